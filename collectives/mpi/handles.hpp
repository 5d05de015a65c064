// Owners of MPI's handles.
#pragma once

#include "collectives/mpi/check.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/handle.hpp"
#include "kernels/base/log.hpp"

namespace cohort::mpi {

// Freeing must not throw: a failure is logged.
template <class Call>
void release_logged(Call&& call) noexcept {
  try {
    call();
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

// Freeing a communicator is collective: owners sit in a CommunicatorPool, which frees at a point that all ranks reach.
struct CommTraits {
  using value_type = MPI_Comm;
  static value_type null() noexcept { return MPI_COMM_NULL; }
  static void release(value_type comm) noexcept {
    release_logged([&] { COHORT_MPI(MPI_Comm_free(&comm)); });
  }
};
using Comm = UniqueHandle<CommTraits>;

// Likewise collective: SharedWindow::close.
struct WinTraits {
  using value_type = MPI_Win;
  static value_type null() noexcept { return MPI_WIN_NULL; }
  static void release(value_type win) noexcept {
    release_logged([&] { COHORT_MPI(MPI_Win_free(&win)); });
  }
};
using Win = UniqueHandle<WinTraits>;

// A completed request is null. One that is not done stays with the library to the end of the process: MPI forbids to
// free the request of a collective, and a receive that is taken back would still write.
struct RequestTraits {
  using value_type = MPI_Request;
  static value_type null() noexcept { return MPI_REQUEST_NULL; }
  static void release(value_type) noexcept {}
};
using RequestHandle = UniqueHandle<RequestTraits>;

struct InfoTraits {
  using value_type = MPI_Info;
  static value_type null() noexcept { return MPI_INFO_NULL; }
  static void release(value_type info) noexcept {
    release_logged([&] { COHORT_MPI(MPI_Info_free(&info)); });
  }
};
using Info = UniqueHandle<InfoTraits>;

struct GroupTraits {
  using value_type = MPI_Group;
  static value_type null() noexcept { return MPI_GROUP_NULL; }
  static void release(value_type group) noexcept {
    release_logged([&] { COHORT_MPI(MPI_Group_free(&group)); });
  }
};
using Group = UniqueHandle<GroupTraits>;

struct TypeTraits {
  using value_type = MPI_Datatype;
  static value_type null() noexcept { return MPI_DATATYPE_NULL; }
  static void release(value_type type) noexcept {
    release_logged([&] { COHORT_MPI(MPI_Type_free(&type)); });
  }
};
using Type = UniqueHandle<TypeTraits>;

}  // namespace cohort::mpi
