/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stands for libbpf's header of this name, for the model: a type has the fields that kernel.h gives it. */
#define bpf_core_field_exists(field) ((void)sizeof(field), 1)
#define bpf_core_field_offset(type, field) __builtin_offsetof(type, field)
#define bpf_core_type_exists(type) 1
#define bpf_core_enum_value(type, value) (value)
#ifndef MODEL_NEWER
#define MODEL_NEWER 0
#endif
#define bpf_core_enum_value_exists(type, value) MODEL_NEWER
