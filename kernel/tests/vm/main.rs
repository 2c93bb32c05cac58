//! Every policy runs a real Linux machine: in the virtual machine of `kernel/vm`, with the program that `make kernel`
//! builds. `make test-vm` runs these: they need QEMU and the test kernel.
//!
//! The expectations come from the weights, from the fluid solution of PBS, or from the kernel's own scheduler in the same
//! machine, and not from the policies.

mod apply;
mod attack;
mod budget;
mod compositions;
mod faults;
mod flow;
mod groups;
mod load;
mod machine;
mod package;
mod paper;
mod record;
mod replacement;
mod rules;
mod shards;
mod shares;
mod storm;
mod terminal;
mod top;
mod two_cpus;
mod weights_of_shards;
