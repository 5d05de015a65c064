#include "collectives/solo/communicator.hpp"

#include <cstring>
#include <string>

namespace cohort::solo {
namespace {

void check_self(int peer, std::string_view what) {
  COHORT_CHECK(peer == 0, "{}: rank {} in a group of one", what, peer);
}

class Receive final : public RequestState {
 public:
  Receive(std::shared_ptr<Mailbox> mailbox, View data, int tag, std::string_view what)
      : mailbox_(std::move(mailbox)),
        data_(data),
        place_{tag, mailbox_->counts[tag].received++},
        description_(fmt::format("receive from itself (tag {}): {}", tag, what)) {}

  bool test() override {
    const auto message = mailbox_->messages.find(place_);
    if (message == mailbox_->messages.end()) return false;
    COHORT_CHECK(message->second.size() == data_.bytes(), "{}: a message of {} bytes for room of {}", description_,
                 message->second.size(), data_.bytes());
    if (data_.count > 0) std::memcpy(data_.data, message->second.data(), data_.bytes());
    mailbox_->messages.erase(message);
    return true;
  }
  const std::string& description() const override { return description_; }

 private:
  std::shared_ptr<Mailbox> mailbox_;
  View data_;
  std::pair<int, std::int64_t> place_;
  std::string description_;
};

}  // namespace

void Communicator::broadcast(View, int root, std::string_view what) { check_self(root, what); }

void Communicator::allreduce(View, ReduceOp, std::string_view) {}

void Communicator::allgather(ConstView part, View all, std::string_view what) {
  COHORT_CHECK(part.dtype == all.dtype && part.count == all.count, "{}: allgather of {} elements into {}", what,
               part.count, all.count);
  if (part.data != all.data && part.count > 0) std::memcpy(all.data, part.data, part.bytes());
}

Request Communicator::send(ConstView data, int peer, int tag, std::string_view what) {
  check_self(peer, what);
  const auto* begin = static_cast<const std::byte*>(data.data);
  mailbox_->messages[{tag, mailbox_->counts[tag].sent++}].assign(begin, begin + data.bytes());
  return {};
}

Request Communicator::receive(View data, int peer, int tag, std::string_view what) {
  check_self(peer, what);
  return Request(std::make_unique<Receive>(mailbox_, data, tag, what));
}

std::unique_ptr<cohort::Communicator> Communicator::split(int, int) { return std::make_unique<Communicator>(); }

}  // namespace cohort::solo
