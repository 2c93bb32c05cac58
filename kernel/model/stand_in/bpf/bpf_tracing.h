/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stands for libbpf's header of this name, for the model. */
#define BPF_PROG(name, ...) name(__VA_ARGS__)
