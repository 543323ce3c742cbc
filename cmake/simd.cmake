# Kernels that are compiled once per instruction set and chosen at run time: src/**/NAME_avx2.c, NAME_avx512.c.
# A compiler for another processor never sees the flags; the files then hold nothing.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT SUPPLE_SCALAR)
  foreach(source ${SUPPLE_CORE_SOURCES})
    if(source MATCHES "_avx2\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
    elseif(source MATCHES "_avx512\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw;-mavx2;-mfma;-mprefer-vector-width=512")
    endif()
  endforeach()
endif()

# Kernels that are inlined as a whole take clang's undefined-behaviour checks minutes to compile. All instruction sets are
# compiled from one source, and tests hold them against each other: the checks are in NAME_base.c alone. Sums of pointers
# are checked where files are read (src/load, src/output), elsewhere the address sanitizer sees what they lead to.
if(SUPPLE_SANITIZE MATCHES "undefined" AND SUPPLE_SANITIZE MATCHES "address")
  foreach(source ${SUPPLE_CORE_SOURCES})
    if(source MATCHES "_(avx2|avx512)\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-fno-sanitize=undefined")
    elseif(source MATCHES "/solver/solver_base\\.c$|/linalg/kernels\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        "-fno-sanitize=alignment,pointer-overflow")
    else()
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-fno-sanitize=pointer-overflow")
    endif()
  endforeach()
endif()
