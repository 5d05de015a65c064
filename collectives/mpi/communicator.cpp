#include "collectives/mpi/communicator.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/mpi/call_limit.hpp"
#include "collectives/mpi/datatype.hpp"
#include "collectives/wait.hpp"

namespace cohort::mpi {
namespace {

// Every MPI library has tags up to 32767.
constexpr int largest_tag = 32767;

void* at(void* data, std::int64_t element, DType dtype) {
  return static_cast<std::byte*>(data) + static_cast<std::size_t>(element) * dtype_bytes(dtype);
}
const void* at(const void* data, std::int64_t element, DType dtype) {
  return static_cast<const std::byte*>(data) + static_cast<std::size_t>(element) * dtype_bytes(dtype);
}

// "ranks 0, 2, 3 of the job".
std::string member_list(MPI_Comm comm) {
  MPI_Group raw_members = MPI_GROUP_NULL;
  COHORT_MPI(MPI_Comm_group(comm, &raw_members));
  const Group members(raw_members);
  MPI_Group raw_world = MPI_GROUP_NULL;
  COHORT_MPI(MPI_Comm_group(MPI_COMM_WORLD, &raw_world));
  const Group world(raw_world);
  int size = 0;
  COHORT_MPI(MPI_Group_size(members.get(), &size));
  std::vector<int> mine(static_cast<std::size_t>(size));
  std::iota(mine.begin(), mine.end(), 0);
  std::vector<int> theirs(mine.size());
  COHORT_MPI(MPI_Group_translate_ranks(members.get(), size, mine.data(), world.get(), theirs.data()));
  return fmt::format("{}", fmt::join(theirs, ", "));
}

// `count` elements, with the next such piece `distance` bytes after this one's begin.
Type piece_type(MPI_Datatype element, int count, std::size_t distance) {
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  COHORT_MPI(MPI_Type_contiguous(count, element, &raw));
  const Type packed(raw);
  COHORT_MPI(MPI_Type_create_resized(packed.get(), 0, static_cast<MPI_Aint>(distance), &raw));
  COHORT_MPI(MPI_Type_commit(&raw));
  return Type(raw);
}

// A transfer in one or several pieces, done in any order.
class Transfer final : public RequestState {
 public:
  explicit Transfer(std::string description) : description_(std::move(description)) {}

  void add(MPI_Request request) { pieces_.emplace_back(request); }
  bool test() override {
    while (!pieces_.empty()) {
      if (!completed(pieces_.back())) return false;
      pieces_.pop_back();
    }
    return true;
  }
  const std::string& description() const override { return description_; }

 private:
  std::string description_;
  std::vector<RequestHandle> pieces_;
};

}  // namespace

bool completed(RequestHandle& request) {
  MPI_Request raw = request.release();
  int done = 0;
  COHORT_MPI(MPI_Test(&raw, &done, MPI_STATUS_IGNORE));
  request.reset(raw);
  return done != 0;
}

Communicator::Communicator(Comm comm, CommunicatorPool& pool) : comm_(comm.get()), pool_(pool) {
  pool.comms.push_back(std::move(comm));
  COHORT_MPI(MPI_Comm_rank(comm_, &rank_));
  COHORT_MPI(MPI_Comm_size(comm_, &size_));
}

void Communicator::wait(RequestHandle request, std::string_view operation, std::string_view what) {
  wait_until([&] { return completed(request); }, pool_.wait_limit,
             [&] {
               return fmt::format(
                   "rank {} of {} waited {} ms in {} for {}; some rank of this group has not come: ranks {} of the job",
                   rank_, size_, pool_.wait_limit.count(), operation, what, member_list(comm_));
             });
}

std::int64_t Communicator::piece(std::int64_t begin, std::int64_t count) const {
  return std::min(pool_.message_limit, count - begin);
}

void Communicator::barrier(std::string_view what) {
  MPI_Request request = MPI_REQUEST_NULL;
  COHORT_MPI(MPI_Ibarrier(comm_, &request));
  wait(RequestHandle(request), "barrier", what);
}

void Communicator::broadcast(View data, int root, std::string_view what) {
  for (std::int64_t begin = 0; begin < data.count; begin += pool_.message_limit) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(piece(begin, data.count));
    void* const buffer = at(data.data, begin, data.dtype);
    COHORT_MPI(MPI_Ibcast(buffer, count, transport_type(data.dtype), root, comm_, &request));
    wait(RequestHandle(request), "broadcast", what);
  }
}

void Communicator::allreduce(View data, ReduceOp op, std::string_view what) {
  const MPI_Datatype type = arithmetic_type(data.dtype);
  for (std::int64_t begin = 0; begin < data.count; begin += pool_.message_limit) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(piece(begin, data.count));
    void* const buffer = at(data.data, begin, data.dtype);
    COHORT_MPI(MPI_Iallreduce(MPI_IN_PLACE, buffer, count, type, operation(op), comm_, &request));
    wait(RequestHandle(request), "allreduce", what);
  }
}

void Communicator::allgather(ConstView part, View all, std::string_view what) {
  COHORT_CHECK(part.dtype == all.dtype && all.count == part.count * size_,
               "allgather of {} {} from each of {} ranks into {} {} ({})", part.count, to_string(part.dtype), size_,
               all.count, to_string(all.dtype), what);
  const MPI_Datatype type = transport_type(part.dtype);
  const bool in_place = part.data == at(all.data, rank_ * part.count, part.dtype);
  for (std::int64_t begin = 0; begin < part.count; begin += pool_.message_limit) {
    const int count = static_cast<int>(piece(begin, part.count));
    const Type strided = piece_type(type, count, part.bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    const void* const source = in_place ? MPI_IN_PLACE : at(part.data, begin, part.dtype);
    void* const target = at(all.data, begin, all.dtype);
    COHORT_MPI(MPI_Iallgather(source, count, type, target, 1, strided.get(), comm_, &request));
    wait(RequestHandle(request), "allgather", what);
  }
}

void Communicator::check_transfer(int peer, int tag, std::string_view what) const {
  COHORT_CHECK(peer >= 0 && peer < size_, "{}: peer {} in a group of {}", what, peer, size_);
  COHORT_CHECK(tag >= 0 && tag <= largest_tag, "{}: tag {} is not in 0 to {}", what, tag, largest_tag);
}

Request Communicator::send(ConstView data, int peer, int tag, std::string_view what) {
  check_transfer(peer, tag, what);
  auto transfer = std::make_unique<Transfer>(fmt::format("send to rank {} (tag {}): {}", peer, tag, what));
  std::int64_t begin = 0;
  do {  // once for an empty view, so that the receiver learns of it
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(piece(begin, data.count));
    const void* const buffer = at(data.data, begin, data.dtype);
    COHORT_MPI(MPI_Isend(buffer, count, transport_type(data.dtype), peer, tag, comm_, &request));
    transfer->add(request);
    begin += pool_.message_limit;
  } while (begin < data.count);
  return Request(std::move(transfer));
}

Request Communicator::receive(View data, int peer, int tag, std::string_view what) {
  check_transfer(peer, tag, what);
  auto transfer = std::make_unique<Transfer>(fmt::format("receive from rank {} (tag {}): {}", peer, tag, what));
  std::int64_t begin = 0;
  do {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(piece(begin, data.count));
    void* const buffer = at(data.data, begin, data.dtype);
    COHORT_MPI(MPI_Irecv(buffer, count, transport_type(data.dtype), peer, tag, comm_, &request));
    transfer->add(request);
    begin += pool_.message_limit;
  } while (begin < data.count);
  return Request(std::move(transfer));
}

// MPI has no nonblocking split. The barrier before it finds a rank that is not there, and says which wait it was.
std::unique_ptr<cohort::Communicator> Communicator::split(int color, int key) {
  barrier("a split");
  const CallLimit limit(pool_.wait_limit, "split a group of ranks");
  MPI_Comm raw = MPI_COMM_NULL;
  COHORT_MPI(MPI_Comm_split(comm_, color, key, &raw));
  return std::make_unique<Communicator>(Comm(raw), pool_);
}

std::unique_ptr<Communicator> Communicator::split_shared() {
  barrier("a split by shared memory");
  const CallLimit limit(pool_.wait_limit, "found the ranks that share memory");
  MPI_Comm raw = MPI_COMM_NULL;
  COHORT_MPI(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &raw));
  return std::make_unique<Communicator>(Comm(raw), pool_);
}

}  // namespace cohort::mpi
