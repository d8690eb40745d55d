# tests/language/einsum_numpy.py – what numpy says of many einsum strings, for the tests to compare
#
#   python3 tests/language/einsum_numpy.py > tests/golden/einsum.txt
#
# A line: text | types | shapes | type and shape of the result | its elements, complex ones as
# two numbers; or `error`.
import numpy

SHORT = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
         "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32",
         "f64": "float64", "c64": "complex64", "c128": "complex128", "bool": "bool"}
NAMES = {numpy.dtype(long).name: short for short, long in SHORT.items()}


def operand(number, shape, short):
    """Small whole numbers, the same as in the test."""
    count = 1
    for extent in shape:
        count *= extent
    values = [(n * (number + 2) + number) % 7 - 3 for n in range(count)]
    if short == "bool":
        values = [value > 0 for value in values]
    elif short.startswith("u"):
        values = [abs(value) for value in values]
    elif short.startswith("c"):
        values = [complex(value, (3 * n + number) % 5 - 2) for n, value in enumerate(values)]
    return numpy.array(values, dtype=SHORT[short]).reshape(shape)


def line(text, shapes, types=None):
    types = types or ["i64"] * len(shapes)
    head = "|".join([text, ",".join(types), ";".join(",".join(map(str, s)) for s in shapes)])
    arrays = [operand(n, s, t) for n, (s, t) in enumerate(zip(shapes, types))]
    try:
        result = numpy.einsum(text, *arrays)
    except (ValueError, TypeError):
        return head + "|error"
    parts = numpy.ravel(result)
    if numpy.iscomplexobj(parts):
        parts = numpy.stack([parts.real, parts.imag], axis=1).ravel()
    elements = " ".join(str(float(x)) for x in parts)
    return f"{head}|{NAMES[result.dtype.name]} {','.join(map(str, result.shape))}|{elements}"


CASES = [
    # products of matrices and vectors
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("ji,jk->ik", [(3, 2), (3, 4)]), ("ij,j->i", [(2, 3), (3,)]), ("ij,j", [(2, 3), (3,)]),
    ("i,ij->j", [(2,), (2, 3)]), ("i,j->ij", [(2,), (3,)]), ("i,j", [(2,), (3,)]),
    ("i,i->", [(3,), (3,)]), ("i,i", [(3,), (3,)]), ("i,i->i", [(3,), (3,)]),
    ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]), ("bij,bjk->ik", [(2, 2, 3), (2, 3, 2)]),
    ("bij,bkj->bik", [(2, 2, 3), (2, 4, 3)]), ("nhqd,nhkd->nhqk", [(1, 2, 3, 2), (1, 2, 4, 2)]),
    ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]), ("ij,jk,kl", [(2, 3), (3, 2), (2, 4)]),
    ("i,ij,j->", [(2,), (2, 3), (3,)]), ("i,j,k->ijk", [(2,), (2,), (3,)]),
    ("ijk,jk->i", [(2, 3, 2), (3, 2)]), ("ijk,k->ij", [(2, 3, 2), (2,)]),
    ("ijk,jil->kl", [(2, 3, 2), (3, 2, 4)]), ("ijkl,kl->ij", [(2, 1, 3, 2), (3, 2)]),
    ("ij,kl->ijkl", [(2, 2), (1, 3)]), ("ij,ij->", [(2, 3), (2, 3)]), ("ij,ij", [(2, 3), (2, 3)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]), ("ij,ji->", [(2, 3), (3, 2)]), ("ij,ij->i", [(2, 3), (2, 3)]),
    ("pqrs,tuqvr->pstuv", [(2, 2, 1, 2), (1, 2, 2, 3, 1)]),
    # one operand: sums, diagonals, transposes
    ("ij->ji", [(2, 3)]), ("ij->ij", [(2, 3)]), ("ij->i", [(2, 3)]), ("ij->j", [(2, 3)]),
    ("ij->", [(2, 3)]), ("i->", [(3,)]), ("i->i", [(3,)]), ("i", [(3,)]), ("ij", [(2, 3)]),
    ("ji", [(2, 3)]), ("ba", [(2, 3)]), ("ii", [(3, 3)]), ("ii->", [(3, 3)]), ("ii->i", [(3, 3)]),
    ("iij->j", [(2, 2, 3)]), ("iij", [(2, 2, 3)]), ("iji->j", [(2, 3, 2)]), ("iji", [(2, 3, 2)]),
    ("iijj->ij", [(2, 2, 3, 3)]), ("iijj", [(2, 2, 3, 3)]), ("ijij->ij", [(2, 3, 2, 3)]),
    ("iii->i", [(2, 2, 2)]), ("iii", [(2, 2, 2)]), ("iiii->", [(2, 2, 2, 2)]),
    ("ijk->kji", [(2, 3, 4)]), ("ijk->jki", [(2, 3, 2)]), ("ijk->ki", [(2, 3, 2)]),
    ("cab", [(2, 3, 2)]), ("bac->a", [(2, 3, 2)]),
    # upper and lower case, the order of an implicit output
    ("aB,Bc", [(2, 3), (3, 2)]), ("bA", [(2, 3)]), ("Ab,aB", [(2, 3), (2, 1)]),
    ("Zz->zZ", [(2, 3)]), ("zy,yx", [(2, 3), (3, 2)]), ("xA,Ay", [(2, 3), (3, 2)]),
    ("ab,bc,cd", [(2, 1), (1, 3), (3, 2)]), ("ba,cb", [(2, 3), (4, 2)]),
    # diagonals of several operands
    ("ii,i->i", [(3, 3), (3,)]), ("ii,ii->i", [(2, 2), (2, 2)]), ("ii,ij->j", [(2, 2), (2, 3)]),
    ("ii,jj->ij", [(2, 2), (3, 3)]), ("ii,jj", [(2, 2), (3, 3)]), ("iij,jkk->ik", [(2, 2, 3), (3, 2, 2)]),
    # ellipsis
    ("...->...", [(2, 3)]), ("...", [(2, 3)]), ("...->", [()]), ("...i->...", [(2, 3)]),
    ("...i->i...", [(2, 3)]), ("i...->...i", [(2, 3)]), ("...ij->...ji", [(2, 2, 3)]),
    ("...ij->...ji", [(2, 3)]), ("i...j->j...i", [(2, 1, 2, 3)]), ("i...j", [(2, 1, 3)]),
    ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]), ("...ij,...jk", [(2, 2, 3), (2, 3, 2)]),
    ("...ij,...jk->...ik", [(2, 1, 2, 3), (3, 3, 2)]), ("...ij,jk->...ik", [(2, 2, 3), (3, 2)]),
    ("ij,...jk->...ik", [(2, 3), (2, 3, 2)]), ("...i,...i->...", [(2, 3), (2, 3)]),
    ("...i,...i->...", [(2, 1, 3), (4, 3)]), ("...,...", [(2, 3), (2, 3)]),
    ("...,...->...", [(1, 4), (4,)]), ("...,...->...", [(3, 1), (1, 4)]), ("...,...", [(), (2, 3)]),
    ("i,...->i...", [(2,), (3,)]), ("i,...", [(2,), (3,)]), ("...,i->i...", [(2, 2), (3,)]),
    ("...ii->...i", [(2, 3, 3)]), ("...ii", [(2, 3, 3)]), ("i...i", [(3, 2, 3)]),
    ("ii...->i...", [(3, 3, 2)]), ("i...i->i...", [(2, 1, 3, 2)]), ("i...->...", [(2, 3)]),
    ("i...->i", [(2,)]), ("i->i...", [(2,)]), ("ij->i...j", [(2, 3)]), ("ij->...", [(2, 3)]),
    ("i->...", [(2,)]), ("k...,jk->j...", [(2, 3), (4, 2)]), ("k...,jk", [(2, 3), (4, 2)]),
    ("...a,b...->...ab", [(2, 3), (4, 2)]), ("a...b,b...c->a...c", [(2, 2, 3), (3, 2, 2)]),
    ("a...,...b", [(2, 3), (3, 2)]), ("...ab,...b->...a", [(1, 2, 3), (4, 3)]),
    # blanks
    (" ij , jk -> ik ", [(2, 3), (3, 2)]), ("i j,j k", [(2, 3), (3, 2)]), (" i i ", [(2, 2)]),
    ("ij,  jk  ->", [(2, 3), (3, 2)]), ("... i -> i ...", [(2, 3)]), ("", [()]), (" ", [()]),
    # scalars
    (",", [(), ()]), (",->", [(), ()]), ("->", [()]), ("i,->i", [(2,), ()]), (",i", [(), (3,)]),
    (",ij,->ji", [(), (2, 3), ()]), (",,", [(), (), ()]),
    # extents of 1 are repeated
    ("ij,ij->ij", [(2, 1), (1, 3)]), ("ij,ij->", [(2, 1), (1, 3)]), ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,jk->ik", [(2, 3), (1, 4)]), ("i,i->i", [(1,), (3,)]), ("i,i", [(1,), (3,)]),
    ("i,i,i->i", [(3,), (1,), (3,)]), ("ij,ji->ij", [(2, 1), (1, 1)]), ("ii,i->i", [(1, 1), (3,)]),
    ("i,i", [(1,), (1,)]), ("ij,j->i", [(2, 1), (4,)]), ("bij,bjk->bik", [(1, 2, 3), (2, 3, 2)]),
    ("ab,bc,ca->abc", [(1, 2), (2, 1), (3, 1)]),
    # nothing to sum over
    ("ij,jk->ik", [(2, 0), (0, 3)]), ("ij,jk->ik", [(0, 2), (2, 3)]), ("i->", [(0,)]),
    ("i->i", [(0,)]), ("i,i->i", [(0,), (1,)]), ("i,i->i", [(1,), (0,)]), ("ii->i", [(0, 0)]),
    ("...i->...", [(2, 0)]), ("ij->j", [(0, 3)]), ("i,i", [(0,), (0,)]),
    # errors
    ("ij,jk->ik", [(2, 3), (4, 5)]), ("ii", [(2, 3)]), ("ii->i", [(1, 3)]), ("ii", [(3, 1)]),
    ("ii,i->i", [(1, 3), (3,)]), ("i->j", [(2,)]), ("i->ii", [(2,)]), ("i->i->i", [(2,)]),
    ("ij", [(2,)]), ("i", [(2, 3)]), ("i,j", [(2,)]), ("i", [(2,), (2,)]), ("ij-jk", [(2, 3)]),
    ("i>j", [(2,)]), ("i1", [(2, 3)]), ("..i", [(2, 3)]), ("i....", [(2, 3)]), ("i.", [(2,)]),
    ("...i...", [(2, 3)]), ("i...->i", [(2, 3)]), ("...->", [(2, 3)]), ("...i,j->ij", [(1, 3), (2,)]),
    ("...->...i", [(2,)]), ("->i", [()]), ("...,...->...", [(2, 4), (4, 1)]), ("i,j-", [(2,), (3,)]),
    ("...ij->ij", [(2, 2, 3)]), ("i\tj", [(2, 3)]), ("ij,jk->ikk", [(2, 3), (3, 2)]),
    ("ij->k", [(2, 3)]), ("i:j", [(2, 3)]), ("é", [(2,)]), ("i,,j->ij", [(2,), (3,)]),
    ("ij,jk->i->k", [(2, 3), (3, 2)]), ("...ij...", [(2, 3)]), ("ijk...", [(2, 3)]),
]

PAIRS = [("i8", "i8"), ("i8", "u8"), ("i8", "i16"), ("i8", "f16"), ("i8", "f32"), ("i16", "f16"),
         ("i16", "f32"), ("i32", "f32"), ("i32", "f16"), ("i64", "f32"), ("i64", "u64"),
         ("u8", "u8"), ("u8", "u16"), ("u8", "f32"), ("u16", "f16"), ("u32", "i32"), ("u32", "f32"),
         ("u64", "u64"), ("u64", "i8"), ("bool", "bool"), ("bool", "i8"), ("bool", "u64"),
         ("bool", "f16"), ("f16", "f16"), ("f16", "f32"), ("f32", "f64"), ("f32", "f32"),
         ("i32", "i32"), ("i16", "i16"), ("i32", "i64"), ("c64", "c64"), ("f64", "c64"),
         ("i32", "c64"), ("i8", "c64")]


def main():
    for text, shapes in CASES:
        print(line(text, shapes))
    for a, b in PAIRS:
        print(line("ij,jk->ik", [(2, 3), (3, 2)], [a, b]))
        print(line("ij,ij->ij", [(2, 3), (2, 3)], [a, b]))
    for short in SHORT:
        print(line("ij->j", [(5, 2)], [short]))
    # Small integers wrap.
    print(line("ab,bc,cd,de->ae", [(2, 3), (3, 3), (3, 3), (3, 2)], ["i8"] * 4))
    print(line("ab,bc,cd,de->ae", [(2, 3), (3, 3), (3, 3), (3, 2)], ["u8"] * 4))


if __name__ == "__main__":
    main()
