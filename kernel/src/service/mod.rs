//! The systemd unit that loads a policy at boot: its settings, and whether it runs. `kernel/systemd/` has its files.

mod lock;
mod settings;
mod systemd;

pub use lock::lock;
pub use settings::{SETTINGS, Settings};
pub use systemd::{HIDDEN, STATE_DIRECTORY, ServiceError, UNIT, disable, enable, is_active, ready};
