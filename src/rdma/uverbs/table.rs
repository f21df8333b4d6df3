// SPDX-License-Identifier: GPL-2.0

//! The tables that the RDMA core reads, as the macros of `include/rdma/uverbs_named_ioctl.h` make
//! them in C.

use crate::bindings;
use core::{
    mem::{
        offset_of,
        size_of,
        ManuallyDrop, //
    },
    ptr, //
};
use kernel::prelude::*;

/// What the core calls for a method.
type Handler = unsafe extern "C" fn(*mut bindings::uverbs_attr_bundle) -> c_int;

/// Bits of an attribute's specification, in the order of the bit-fields in C.
const ZERO_TRAILING: u8 = 1 << 0;
const MANDATORY: u8 = 1 << 2;

/// Checks that a number is one of those that the core leaves to drivers.
pub(super) const fn drivers_own(number: u16) -> u16 {
    assert!(
        number >> bindings::UVERBS_ID_NS_SHIFT == 1,
        "a number of the core's own"
    );
    number
}

/// An attribute by which user space names an object that is there, and that the call reads.
pub(super) const fn object_read(
    number: u16,
    object: bindings::uverbs_default_objects,
) -> Attribute {
    attribute(
        number,
        bindings::uverbs_attr_type_UVERBS_ATTR_TYPE_IDR,
        MANDATORY,
        bindings::uverbs_attr_spec__bindgen_ty_1 {
            obj: ManuallyDrop::new(bindings::uverbs_attr_spec__bindgen_ty_1__bindgen_ty_2 {
                // CAST: The numbers of the core's objects and accesses are small.
                obj_type: object as u16,
                access: bindings::uverbs_obj_access_UVERBS_ACCESS_READ as u8,
            }),
        },
    )
}

/// An attribute in which user space gets a `T`.
pub(super) const fn value_out<T>(number: u16) -> Attribute {
    attribute(
        number,
        bindings::uverbs_attr_type_UVERBS_ATTR_TYPE_PTR_OUT,
        MANDATORY,
        lengths(size_of::<T>(), size_of::<T>()),
    )
}

/// An attribute by which user space describes memory. A longer description that ends in zeroes is
/// one, too.
pub(super) const fn buffer_in(number: u16) -> Attribute {
    type Description = bindings::ib_uverbs_buffer_desc;
    attribute(
        number,
        bindings::uverbs_attr_type_UVERBS_ATTR_TYPE_PTR_IN,
        MANDATORY | ZERO_TRAILING,
        lengths(
            offset_of!(Description, length) + size_of::<u64>(),
            size_of::<Description>(),
        ),
    )
}

/// The lengths of what user space reads or writes: the least that it has to bring, and what the
/// driver knows.
const fn lengths(min: usize, len: usize) -> bindings::uverbs_attr_spec__bindgen_ty_1 {
    assert!(min <= len && len <= u16::MAX as usize);
    bindings::uverbs_attr_spec__bindgen_ty_1 {
        ptr: ManuallyDrop::new(bindings::uverbs_attr_spec__bindgen_ty_1__bindgen_ty_1 {
            // CAST: Checked above.
            len: len as u16,
            min_len: min as u16,
        }),
    }
}

pub(super) type Attribute = bindings::uverbs_attr_def;

const fn attribute(
    number: u16,
    kind: bindings::uverbs_attr_type,
    flags: u8,
    u: bindings::uverbs_attr_spec__bindgen_ty_1,
) -> Attribute {
    bindings::uverbs_attr_def {
        id: drivers_own(number),
        attr: bindings::uverbs_attr_spec {
            // CAST: The kinds are few.
            type_: kind as u8,
            _bitfield_align_1: [],
            _bitfield_1: bindings::__BindgenBitfieldUnit::new([flags]),
            u,
            u2: bindings::uverbs_attr_spec__bindgen_ty_2 {
                enum_def: ManuallyDrop::new(
                    bindings::uverbs_attr_spec__bindgen_ty_2__bindgen_ty_1 { ids: ptr::null() },
                ),
            },
        },
    }
}

/// The attributes of a method, as C has them: one pointer for each.
///
/// # Invariants
///
/// Each pointer is to an attribute that lives forever.
#[repr(C)]
pub(super) struct AttributeList<const N: usize> {
    first: *const Attribute,
    others: [*const Attribute; N],
}

impl<const N: usize> AttributeList<N> {
    const LEN: usize = size_of::<Self>() / size_of::<*const Attribute>();

    pub(super) const fn new(first: &'static Attribute, others: &'static [Attribute; N]) -> Self {
        let mut list = Self {
            first,
            others: [first; N],
        };
        let mut index = 0;
        while index < N {
            list.others[index] = &raw const others[index];
            index += 1;
        }
        // INVARIANT: The attributes are `'static`.
        list
    }
}

/// A method with a handler, or, without one, attributes for a method of the core's.
pub(super) const fn method<const N: usize>(
    number: u16,
    attributes: &'static AttributeList<N>,
    handler: Option<Handler>,
) -> bindings::uverbs_method_def {
    bindings::uverbs_method_def {
        id: number,
        flags: 0,
        num_attrs: AttributeList::<N>::LEN,
        attrs: (&raw const *attributes).cast(),
        handler,
    }
}

/// What is added to an object: `methods` are pointers to so many that live forever.
pub(super) const fn object(
    number: bindings::uverbs_default_objects,
    methods: *const *const bindings::uverbs_method_def,
    count: usize,
) -> bindings::uverbs_object_def {
    bindings::uverbs_object_def {
        // CAST: The numbers of the core's objects are small.
        id: number as u16,
        type_attrs: ptr::null(),
        num_methods: count,
        methods: methods.cast(),
    }
}

pub(super) type Definition = bindings::uapi_definition;

const fn entry(
    kind: bindings::uapi_definition_kind,
    object_id: u16,
    leads_to: bindings::uapi_definition__bindgen_ty_2,
) -> Definition {
    Definition {
        // CAST: The kinds are few.
        kind: kind as u8,
        scope: 0,
        __bindgen_anon_1: bindings::uapi_definition__bindgen_ty_1 {
            object_start: ManuallyDrop::new(
                bindings::uapi_definition__bindgen_ty_1__bindgen_ty_1 { object_id },
            ),
        },
        __bindgen_anon_2: leads_to,
    }
}

/// The entry for an object.
pub(super) const fn definition(object: &'static bindings::uverbs_object_def) -> Definition {
    entry(
        bindings::uapi_definition_kind_UAPI_DEF_CHAIN_OBJ_TREE,
        object.id,
        bindings::uapi_definition__bindgen_ty_2 {
            chain_obj_tree: object,
        },
    )
}

/// An entry that leads nowhere.
pub(super) const fn empty(kind: bindings::uapi_definition_kind) -> Definition {
    entry(
        kind,
        0,
        bindings::uapi_definition__bindgen_ty_2 { chain: ptr::null() },
    )
}

/// Compares what is made here with what the macros of C make.
#[kernel::macros::kunit_tests(rdma_uverbs)]
mod tests {
    use super::*;

    /// The first number of a driver's.
    const FIRST: u16 = 1 << bindings::UVERBS_ID_NS_SHIFT;

    const METHOD: &bindings::uverbs_method_def = &method(
        FIRST + 1,
        &AttributeList::new(
            &object_read(FIRST, bindings::uverbs_default_objects_UVERBS_OBJECT_MR),
            &[value_out::<u16>(FIRST + 1), value_out::<u64>(FIRST + 2)],
        ),
        Some(handler),
    );
    const METHODS: &[*const bindings::uverbs_method_def] = &[METHOD];

    const ATTRIBUTES: &bindings::uverbs_method_def = &method(
        bindings::uverbs_methods_comp_cntr_UVERBS_METHOD_COMP_CNTR_CREATE as u16,
        &AttributeList::new(&buffer_in(FIRST), &[]),
        None,
    );
    const OF_THE_CORE: &[*const bindings::uverbs_method_def] = &[ATTRIBUTES];

    /// A sample of each kind; `rdma_shim_uverbs_sample` is the same, by the macros.
    const SAMPLE: [Definition; 3] = [
        definition(&object(
            bindings::uverbs_default_objects_UVERBS_OBJECT_MR,
            METHODS.as_ptr(),
            METHODS.len(),
        )),
        definition(&object(
            bindings::uverbs_default_objects_UVERBS_OBJECT_COMP_CNTR,
            OF_THE_CORE.as_ptr(),
            OF_THE_CORE.len(),
        )),
        empty(bindings::uapi_definition_kind_UAPI_DEF_END),
    ];

    /// # Safety
    ///
    /// None: it does nothing.
    unsafe extern "C" fn handler(_attrs: *mut bindings::uverbs_attr_bundle) -> c_int {
        0
    }

    /// Calls `number` for all that a table says, in its order, but for where things lie.
    ///
    /// # Safety
    ///
    /// `table` is an array of definitions of objects, and ends.
    unsafe fn read(mut table: *const Definition, number: &mut dyn FnMut(usize)) {
        // SAFETY: By the safety requirements all pointers lead to so many elements as the counts
        // say, or are null; and unions have what the kind says.
        unsafe {
            loop {
                number((*table).kind.into());
                number((*table).scope.into());
                if u32::from((*table).kind) == bindings::uapi_definition_kind_UAPI_DEF_END {
                    return;
                }
                number((*table).__bindgen_anon_1.object_start.object_id.into());
                let object = &*(*table).__bindgen_anon_2.chain_obj_tree;
                number(object.id.into());
                number(object.type_attrs.is_null().into());
                number(object.num_methods);
                for index in 0..object.num_methods {
                    let methods = object.methods.cast::<*const bindings::uverbs_method_def>();
                    let method = &**methods.add(index);
                    number(method.id.into());
                    number(method.flags as usize);
                    number(method.handler.is_some().into());
                    number(method.num_attrs);
                    for index in 0..method.num_attrs {
                        let attributes = method.attrs.cast::<*const Attribute>();
                        let attribute = &**attributes.add(index);
                        number(attribute.id.into());
                        number(attribute.attr.type_.into());
                        number(attribute.attr._bitfield_1.get(0, 8) as usize);
                        // Both shapes of it: 16 bits, and 16 or 8 more.
                        number(attribute.attr.u.ptr.len.into());
                        if u32::from(attribute.attr.type_)
                            == bindings::uverbs_attr_type_UVERBS_ATTR_TYPE_IDR
                        {
                            number(attribute.attr.u.obj.access.into());
                        } else {
                            number(attribute.attr.u.ptr.min_len.into());
                        }
                        number(attribute.attr.u2.enum_def.ids as usize);
                    }
                }
                table = table.add(1);
            }
        }
    }

    #[test]
    fn tables_are_those_of_the_c_macros() -> Result {
        let (mut c, mut rust) = (KVec::new(), KVec::new());
        // Room for all numbers, and more.
        c.reserve(100, GFP_KERNEL)?;
        rust.reserve(100, GFP_KERNEL)?;
        // SAFETY: Both are such tables.
        unsafe {
            read(bindings::rdma_shim_uverbs_sample(), &mut |number| {
                let _ = c.push(number, GFP_KERNEL);
            });
            read(SAMPLE.as_ptr(), &mut |number| {
                let _ = rust.push(number, GFP_KERNEL);
            });
        }
        for (index, (c, rust)) in c.iter().zip(&rust).enumerate() {
            if c != rust {
                pr_err!("number {index} is {rust} in Rust, {c} in C\n");
            }
        }
        assert!(c[..] == rust[..]);
        // Two objects, two methods, and four attributes.
        assert_eq!(c.len(), 2 + 2 * 6 + 2 * 4 + 4 * 6);
        Ok(())
    }
}
