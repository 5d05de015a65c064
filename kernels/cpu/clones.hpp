// COHORT_CLONES: a function compiled once per instruction set, chosen when the program is loaded, so that one portable
// binary runs as fast as a native one. Clones are named by feature: names of processors are matched by family, and a
// newer or another vendor's processor would fall back to the baseline.
#pragma once

// Clones give the same bits, since nothing contracts or reassociates (-ffp-contract=off, no -ffast-math). Only on
// functions without loops over threads: the body that OpenMP outlines would not be cloned. Not on templates.
// Only in unnamed namespaces: clang 14 exports others under the name with .ifunc behind it, which no caller finds.
#if !defined(COHORT_NO_CLONES) && defined(__x86_64__) && defined(__ELF__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define COHORT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef COHORT_CLONES
#define COHORT_CLONES
#endif
