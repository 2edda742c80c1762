package isa

import (
	"strings"
	"sync"
)

// renamed maps what RDNA calls operations that GFX9 (or the RDNA before) has by
// another name, to that name. Where more than the name has changed there is no
// entry: ds_cmpstore takes its data the other way round than ds_cmpst.
//
// Origin: "RDNA 3" Instruction Set Architecture, section "Instruction name
// changes", and the aliases in LLVM 22's AMDGPU backend.
var renamed = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, line := range strings.Split(renamings, "\n") {
		if words := strings.Fields(line); len(words) == 2 {
			all[words[0]] = words[1]
		}
	}
	words := map[string]string{"b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4", "b256": "dwordx8", "b512": "dwordx16"}
	small := map[string]string{"u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort",
		"d16_u8": "ubyte_d16", "d16_i8": "sbyte_d16", "d16_b16": "short_d16",
		"d16_hi_u8": "ubyte_d16_hi", "d16_hi_i8": "sbyte_d16_hi", "d16_hi_b16": "short_d16_hi"}
	stores := map[string]string{"b8": "byte", "b16": "short", "d16_hi_b8": "byte_d16_hi", "d16_hi_b16": "short_d16_hi"}
	atomics := map[string]string{"swap_b": "swap", "cmpswap_b": "cmpswap", "add_u": "add", "sub_u": "sub", "min_i": "smin", "min_u": "umin",
		"max_i": "smax", "max_u": "umax", "and_b": "and", "or_b": "or", "xor_b": "xor", "inc_u": "inc", "dec_u": "dec"}
	for fresh, before := range words {
		all["s_load_"+fresh], all["s_buffer_load_"+fresh] = "s_load_"+before, "s_buffer_load_"+before
	}
	for _, segment := range []string{"flat", "global", "scratch", "buffer"} {
		for fresh, before := range words {
			all[segment+"_load_"+fresh], all[segment+"_store_"+fresh] = segment+"_load_"+before, segment+"_store_"+before
		}
		for fresh, before := range small {
			all[segment+"_load_"+fresh] = segment + "_load_" + before
		}
		for fresh, before := range stores {
			all[segment+"_store_"+fresh] = segment + "_store_" + before
		}
		for fresh, before := range atomics {
			all[segment+"_atomic_"+fresh+"32"], all[segment+"_atomic_"+fresh+"64"] = segment+"_atomic_"+before, segment+"_atomic_"+before+"_x2"
		}
	}
	for _, segment := range []string{"flat", "global", "buffer"} {
		stem := segment + "_atomic_"
		all[stem+"csub_u32"], all[stem+"sub_clamp_u32"] = stem+"csub", stem+"csub"
		for _, op := range []string{"min", "max"} {
			all[stem+op+"_f32"], all[stem+op+"_num_f32"] = stem+"f"+op, stem+"f"+op
		}
	}
	delete(all, "flat_atomic_csub_u32") // there is none; sub_clamp came later
	delete(all, "flat_atomic_sub_clamp_u32")
	for _, t := range []string{"x", "xy", "xyz", "xyzw"} {
		for _, op := range []string{"load", "store"} {
			all["buffer_"+op+"_d16_format_"+t], all["buffer_"+op+"_d16_hi_format_"+t] = "buffer_"+op+"_format_d16_"+t, "buffer_"+op+"_format_d16_hi_"+t
		}
	}
	for _, bits := range []string{"b32", "b64"} {
		all["ds_load_2addr_"+bits], all["ds_load_2addr_stride64_"+bits] = "ds_read2_"+bits, "ds_read2st64_"+bits
		all["ds_store_2addr_"+bits], all["ds_store_2addr_stride64_"+bits] = "ds_write2_"+bits, "ds_write2st64_"+bits
		all["ds_storexchg_rtn_"+bits] = "ds_wrxchg_rtn_" + bits
		all["ds_storexchg_2addr_rtn_"+bits], all["ds_storexchg_2addr_stride64_rtn_"+bits] = "ds_wrxchg2_rtn_"+bits, "ds_wrxchg2st64_rtn_"+bits
		for _, op := range []string{"and", "or"} {
			all["s_"+op+"_not1_"+bits] = "s_" + op + "n2_" + bits
			all["s_"+op+"_not1_saveexec_"+bits], all["s_"+op+"_not0_saveexec_"+bits] = "s_"+op+"n2_saveexec_"+bits, "s_"+op+"n1_saveexec_"+bits
			all["s_"+op+"_not1_wrexec_"+bits], all["s_"+op+"_not0_wrexec_"+bits] = "s_"+op+"n2_wrexec_"+bits, "s_"+op+"n1_wrexec_"+bits
		}
	}
	for _, t := range []string{"addtid_b32", "b32", "b64", "b96", "b128", "u8", "i8", "u16", "i16", "u8_d16", "i8_d16", "u16_d16",
		"u8_d16_hi", "i8_d16_hi", "u16_d16_hi", "b8", "b16", "b8_d16_hi", "b16_d16_hi"} {
		all["ds_load_"+t], all["ds_store_"+t] = "ds_read_"+t, "ds_write_"+t
	}
	for _, t := range []string{"f16", "f32", "f64"} {
		for _, op := range []string{"min", "max"} {
			all["s_"+op+"_num_"+t], all["v_"+op+"_num_"+t], all["ds_"+op+"_num_"+t], all["ds_"+op+"_num_rtn_"+t] = "s_"+op+"_"+t, "v_"+op+"_"+t, "ds_"+op+"_"+t, "ds_"+op+"_rtn_"+t
			all["v_minmax_num_"+t], all["v_maxmin_num_"+t] = "v_minmax_"+t, "v_maxmin_"+t
			all["v_"+op+"3_num_"+t], all["v_med3_num_"+t], all["v_pk_"+op+"_num_"+t] = "v_"+op+"3_"+t, "v_med3_"+t, "v_pk_"+op+"_"+t
		}
		all["v_cmp_t_"+t], all["v_cmpx_t_"+t] = "v_cmp_tru_"+t, "v_cmpx_tru_"+t
	}
	delete(all, "s_load_b96") // new, both
	delete(all, "s_buffer_load_b96")
	return all
})

const renamings = `
v_add_nc_u32 v_add_u32
v_sub_nc_u32 v_sub_u32
v_subrev_nc_u32 v_subrev_u32
v_add_nc_i32 v_add_i32
v_sub_nc_i32 v_sub_i32
v_add_nc_u16 v_add_u16
v_sub_nc_u16 v_sub_u16
v_add_nc_i16 v_add_i16
v_sub_nc_i16 v_sub_i16
v_add_co_ci_u32 v_addc_co_u32
v_sub_co_ci_u32 v_subb_co_u32
v_subrev_co_ci_u32 v_subbrev_co_u32
v_cvt_pk_rtz_f16_f32 v_cvt_pkrtz_f16_f32
v_cvt_pk_norm_i16_f32 v_cvt_pknorm_i16_f32
v_cvt_pk_norm_u16_f32 v_cvt_pknorm_u16_f32
v_cvt_pk_norm_i16_f16 v_cvt_pknorm_i16_f16
v_cvt_pk_norm_u16_f16 v_cvt_pknorm_u16_f16
v_cvt_floor_i32_f32 v_cvt_flr_i32_f32
v_cvt_nearest_i32_f32 v_cvt_rpi_i32_f32
v_clz_i32_u32 v_ffbh_u32
v_cls_i32 v_ffbh_i32
v_ctz_i32_b32 v_ffbl_b32
v_mul_dx9_zero_f32 v_mul_legacy_f32
v_fma_dx9_zero_f32 v_fma_legacy_f32
v_fmac_dx9_zero_f32 v_fmac_legacy_f32
v_dot2acc_f32_f16 v_dot2c_f32_f16
v_dot2acc_f32_bf16 v_dot2c_f32_bf16
v_mad_co_u64_u32 v_mad_u64_u32
v_mad_co_i64_i32 v_mad_i64_i32
global_load_addtid_b32 global_load_dword_addtid
global_store_addtid_b32 global_store_dword_addtid
s_ctz_i32_b32 s_ff1_i32_b32
s_ctz_i32_b64 s_ff1_i32_b64
s_clz_i32_u32 s_flbit_i32_b32
s_clz_i32_u64 s_flbit_i32_b64
s_cls_i32 s_flbit_i32
s_cls_i32_i64 s_flbit_i32_i64
s_add_co_u32 s_add_u32
s_sub_co_u32 s_sub_u32
s_add_co_i32 s_add_i32
s_sub_co_i32 s_sub_i32
s_add_co_ci_u32 s_addc_u32
s_sub_co_ci_u32 s_subb_u32
s_addk_co_i32 s_addk_i32
s_set_inst_prefetch_distance s_inst_prefetch
`
