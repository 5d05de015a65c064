# What every target of the project shares: warnings, sanitizers, the source root, and the test helpers.

add_library(cohort_options INTERFACE)
# -ffp-contract=off: the same bits from every function clone and from every compiler.
target_compile_options(cohort_options INTERFACE -Wall -Wextra -Wpedantic -ffp-contract=off
                                                $<$<CONFIG:Release>:-O3>)
if(COHORT_WERROR)
  target_compile_options(cohort_options INTERFACE -Werror)
endif()
target_compile_definitions(cohort_options INTERFACE COHORT_SOURCE_ROOT="${PROJECT_SOURCE_DIR}/"
                                                    FMT_HEADER_ONLY=1 OMPI_SKIP_MPICXX=1)
# The ranks of a job compare it: all of them must run the same build.
target_link_options(cohort_options INTERFACE LINKER:--build-id)
target_include_directories(cohort_options INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(cohort_options SYSTEM INTERFACE
                           $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)

if(COHORT_SANITIZE)
  set(_kinds address undefined thread)
  string(REPLACE "," ";" _asked "${COHORT_SANITIZE}")
  foreach(_kind IN LISTS _asked)
    if(NOT _kind IN_LIST _kinds)
      message(FATAL_ERROR "COHORT_SANITIZE: unknown sanitizer '${_kind}'; use address, undefined or thread")
    endif()
  endforeach()
  if("thread" IN_LIST _asked AND "address" IN_LIST _asked)
    message(FATAL_ERROR "COHORT_SANITIZE: thread and address cannot be combined")
  endif()
  target_compile_options(cohort_options INTERFACE -fsanitize=${COHORT_SANITIZE} -fno-omit-frame-pointer -g1
                                                  -fno-sanitize-recover=all)
  target_link_options(cohort_options INTERFACE -fsanitize=${COHORT_SANITIZE})
  # Function clones are chosen by resolvers that run before a sanitizer has started.
  target_compile_definitions(cohort_options INTERFACE COHORT_NO_CLONES=1)
endif()

# cohort_add_library(name SOURCES a.cpp ... LINKS target ...): a static library of one layer or topic.
function(cohort_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cohort_options ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

# The environment of every test that starts ranks: works as root, with more ranks than cores, on one machine.
set(COHORT_MPI_TEST_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1
    OMPI_MCA_btl=self,vader,tcp OMP_NUM_THREADS=1)

# Labels of tests: `ci` runs everywhere (scripts/test), `soak` holds the long ones (scripts/test --soak), `unit` marks those
# that start no ranks, which are also run under the sanitizers. A test that cannot run prints why and returns 77.

# cohort_add_mpi_test(name RANKS 1 2 3 4 [LIMIT seconds] [LABELS ci] [VARIANT word] [ARGS ...]): one ctest entry per rank
# count for the program target `name`, with processor count, time limit and label. VARIANT tells entries of one program
# with different ARGS apart.
function(cohort_add_mpi_test name)
  cmake_parse_arguments(arg "" "LIMIT;VARIANT" "RANKS;ARGS;LABELS" ${ARGN})
  if(NOT arg_LIMIT)
    set(arg_LIMIT 300)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS ci)
  endif()
  math(EXPR _outer "${arg_LIMIT} + 20")
  foreach(_np IN LISTS arg_RANKS)
    set(_test ${name}.np${_np})
    if(arg_VARIANT)
      set(_test ${name}.${arg_VARIANT}.np${_np})
    endif()
    add_test(NAME ${_test}
             COMMAND timeout -k 5 ${arg_LIMIT} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${_np} ${MPIEXEC_PREFLAGS}
                     $<TARGET_FILE:${name}> ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
    set_tests_properties(${_test} PROPERTIES PROCESSORS ${_np} TIMEOUT ${_outer} LABELS "${arg_LABELS}"
                         SKIP_RETURN_CODE 77 ENVIRONMENT "${COHORT_MPI_TEST_ENVIRONMENT}")
  endforeach()
endfunction()

# Builds the programs of every unit test and no other.
add_custom_target(unit_tests)

# cohort_add_unit_test(name SOURCES a.cpp ... LINKS target ...): one program of tests that start no ranks.
function(cohort_add_unit_test name)
  cmake_parse_arguments(arg "" "LIMIT" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_LIMIT)
    set(arg_LIMIT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cohort_test_unit ${arg_LINKS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_LIMIT} LABELS "ci;unit" SKIP_RETURN_CODE 77
                       ENVIRONMENT "OMP_NUM_THREADS=1")
  add_dependencies(unit_tests ${name})
endfunction()
