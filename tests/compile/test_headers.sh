#!/usr/bin/env bash
# test_headers.sh CC - each public header compiles on its own, included twice, as C and as C++, without warnings.
. "$(dirname "$0")/../app/lib.sh"
cc=$1
for header in "$source_dir"/include/supple/*.h; do
    name=supple/$(basename "$header")
    printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$name" "$name" >"$work/one.c"
    for standard in c99 c11 c17; do
        run 0 "$name as $standard" "$cc" -std=$standard -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror \
            -I "$source_dir/include" -fsyntax-only "$work/one.c"
    done
    if command -v g++ >/dev/null; then
        for standard in c++11 c++20; do
            run 0 "$name as $standard" g++ -x c++ -std=$standard -Wall -Wextra -Wpedantic -Werror \
                -I "$source_dir/include" -fsyntax-only "$work/one.c"
        done
    else
        skip "$name as C++" "no g++"
    fi
done
finish
