// Our element types and operations in MPI's words.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/mpi/check.hpp"
#include "kernels/base/dtype.hpp"

namespace cohort::mpi {

// For moving elements: the 16-bit floats travel as 16-bit integers.
inline MPI_Datatype transport_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return MPI_FLOAT;
    case DType::f64: return MPI_DOUBLE;
    case DType::f16:
    case DType::bf16: return MPI_UINT16_T;
    case DType::u8: return MPI_UINT8_T;
    case DType::i8: return MPI_INT8_T;
    case DType::i32: return MPI_INT32_T;
    case DType::i64: return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

// For calculating with them. Throws Error(check) for the 16-bit floats, which MPI-3 does not know.
inline MPI_Datatype arithmetic_type(DType dtype) {
  COHORT_CHECK(dtype != DType::f16 && dtype != DType::bf16, "MPI cannot reduce {}: convert to float32 first",
               to_string(dtype));
  return transport_type(dtype);
}

inline MPI_Op operation(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return MPI_SUM;
    case ReduceOp::max: return MPI_MAX;
    case ReduceOp::min: return MPI_MIN;
  }
  return MPI_OP_NULL;
}

}  // namespace cohort::mpi
