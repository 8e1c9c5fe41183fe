// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving messages.
#include "Comm.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>

using namespace gpusim;

double gpusim::timeoutSeconds() {
  const char *text = getenv("GPUSIM_NCCL_TIMEOUT");
  return text && *text ? atof(text) : 60;
}

namespace {

constexpr uint32_t magic = 0x67735243;

struct Header {
  uint32_t magic, what;
  uint64_t bytes;
};

} // namespace

std::string ncclComm::name() const { return "rank " + std::to_string(rank) + " of " + std::to_string(size); }

void ncclComm::fail(int code, const std::string &text) {
  int none = 0;
  if (!error.compare_exchange_strong(none, code))
    return; // the first error is the cause
  if (!aborted)
    gpusimReport(("NCCL, " + name() + ": " + text).c_str());
  // Wakes the peers: they see the end of the connection.
  for (int fd : sockets)
    if (fd >= 0)
      shutdown(fd, SHUT_RDWR);
}

//===-- Exchange ----------------------------------------------------------===//

namespace {

/// One message on its way: header, data, then a bit per byte that says which
/// bytes were written.
struct Flow {
  const Message *m = nullptr;
  Header header{};
  std::vector<uint8_t> bits;
  uint64_t at = 0;
  uint64_t total() const { return sizeof header + m->bytes + bits.size(); }
  /// The piece that comes next.
  std::pair<uint8_t *, uint64_t> piece() {
    if (at < sizeof header)
      return {(uint8_t *)&header + at, sizeof header - at};
    uint64_t d = at - sizeof header;
    if (d < m->bytes)
      return {m->data + d, m->bytes - d};
    return {bits.data() + (d - m->bytes), bits.size() - (d - m->bytes)};
  }
};

struct Lane {
  std::vector<Flow> out, in;
  size_t nextOut = 0, nextIn = 0;
  bool idle() const { return nextOut == out.size() && nextIn == in.size(); }
};

class Exchange {
public:
  Exchange(ncclComm &c, const std::vector<Message> &sends, const std::vector<Message> &receives);
  bool run();

private:
  bool selfCopies(const std::vector<Message> &sends, const std::vector<Message> &receives);
  bool progressOut(int peer, bool &moved);
  bool progressIn(int peer, bool &moved);
  bool accept(int peer, Flow &f);
  void reportTimeout();

  ncclComm &comm;
  std::vector<Lane> lanes;
  bool ok = true;
};

std::string describe(uint32_t what, uint64_t bytes) {
  return std::string(kindName(Kind(what >> 8))) + " of " + std::to_string(bytes) + " bytes";
}

Exchange::Exchange(ncclComm &c, const std::vector<Message> &sends, const std::vector<Message> &receives)
    : comm(c), lanes(c.size) {
  auto flow = [](const Message &m) {
    Flow f;
    f.m = &m;
    f.bits.assign((m.bytes + 7) / 8, 0xff);
    return f;
  };
  for (const Message &m : sends) {
    if (m.peer == c.rank)
      continue;
    Flow f = flow(m);
    f.header = {magic, m.what, m.bytes};
    if (m.device)
      gpusimGetWritten(m.device, m.bytes, f.bits.data());
    lanes[m.peer].out.push_back(std::move(f));
  }
  for (const Message &m : receives)
    if (m.peer != c.rank)
      lanes[m.peer].in.push_back(flow(m));
  ok = selfCopies(sends, receives);
}

bool Exchange::selfCopies(const std::vector<Message> &sends, const std::vector<Message> &receives) {
  std::vector<const Message *> from, to;
  for (const Message &m : sends)
    if (m.peer == comm.rank)
      from.push_back(&m);
  for (const Message &m : receives)
    if (m.peer == comm.rank)
      to.push_back(&m);
  if (from.size() != to.size()) {
    comm.fail(ncclInvalidUsage, "a message to itself without its other end");
    return false;
  }
  for (size_t n = 0; n < from.size(); ++n) {
    if (from[n]->bytes != to[n]->bytes) {
      comm.fail(ncclInvalidUsage, "the two ends of a message to itself disagree: " + std::to_string(from[n]->bytes) +
                                      " and " + std::to_string(to[n]->bytes) + " bytes");
      return false;
    }
    std::vector<uint8_t> bits((to[n]->bytes + 7) / 8, 0xff);
    if (from[n]->device)
      gpusimGetWritten(from[n]->device, from[n]->bytes, bits.data());
    if (to[n]->bytes) // without any there may be no buffer
      memmove(to[n]->data, from[n]->data, to[n]->bytes);
    if (to[n]->device)
      gpusimSetWritten(to[n]->device, to[n]->bytes, bits.data());
  }
  return true;
}

/// False after an error.
bool Exchange::progressOut(int peer, bool &moved) {
  Lane &lane = lanes[peer];
  while (lane.nextOut < lane.out.size()) {
    Flow &f = lane.out[lane.nextOut];
    while (f.at < f.total()) {
      auto p = f.piece();
      ssize_t n = send(comm.sockets[peer], p.first, p.second, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
      if (n <= 0) {
        comm.fail(ncclRemoteError, "rank " + std::to_string(peer) + " has left (it died or aborted) before it took a " +
                                       describe(f.header.what, f.m->bytes));
        return false;
      }
      f.at += n;
      moved = true;
    }
    ++lane.nextOut;
  }
  return true;
}

/// Compares a header with what this rank expects.
bool Exchange::accept(int peer, Flow &f) {
  if (f.header.magic == magic && f.header.what == f.m->what && f.header.bytes == f.m->bytes)
    return true;
  const std::string them = "rank " + std::to_string(peer);
  std::string text;
  if (f.header.magic != magic)
    text = "broken stream from " + them;
  else
    text = "the two ends of a message disagree: " + them + " sends a " + describe(f.header.what, f.header.bytes) +
           " (type " + std::to_string(f.header.what & 0xff) + "), " + comm.name() + " receives a " +
           describe(f.m->what, f.m->bytes) + " (type " + std::to_string(f.m->what & 0xff) + ")";
  comm.fail(ncclInvalidUsage, text);
  return false;
}

bool Exchange::progressIn(int peer, bool &moved) {
  Lane &lane = lanes[peer];
  while (lane.nextIn < lane.in.size()) {
    Flow &f = lane.in[lane.nextIn];
    while (f.at < f.total()) {
      auto p = f.piece();
      ssize_t n = recv(comm.sockets[peer], p.first, p.second, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
      if (n <= 0) {
        comm.fail(ncclRemoteError, "rank " + std::to_string(peer) +
                                       " has left (it died or aborted) while this rank waits "
                                       "for a " +
                                       describe(f.m->what, f.m->bytes));
        return false;
      }
      f.at += n;
      moved = true;
      if (f.at >= sizeof f.header && f.at - n < sizeof f.header && !accept(peer, f))
        return false;
    }
    if (f.m->device)
      gpusimSetWritten(f.m->device, f.m->bytes, f.bits.data());
    ++lane.nextIn;
  }
  return true;
}

void Exchange::reportTimeout() {
  std::string text = "no progress for " + std::to_string((int)timeoutSeconds()) + " seconds";
  for (int peer = 0; peer < comm.size; ++peer) {
    const Lane &lane = lanes[peer];
    const std::string them = "rank " + std::to_string(peer);
    if (lane.nextIn < lane.in.size())
      text += "; " + them + " never posted the send for a " +
              describe(lane.in[lane.nextIn].m->what, lane.in[lane.nextIn].m->bytes);
    if (lane.nextOut < lane.out.size())
      text += "; " + them + " never posted the receive for a " +
              describe(lane.out[lane.nextOut].header.what, lane.out[lane.nextOut].m->bytes);
  }
  comm.fail(ncclRemoteError, text);
}

bool Exchange::run() {
  if (!ok)
    return false;
  Deadline deadline;
  for (;;) {
    bool moved = false, idle = true;
    for (int peer = 0; peer < comm.size; ++peer) {
      if (!progressOut(peer, moved) || !progressIn(peer, moved))
        return false;
      idle &= lanes[peer].idle();
    }
    if (idle)
      return true;
    if (comm.aborted || comm.error)
      return false;
    if (moved) {
      deadline = Deadline();
      continue;
    }
    if (deadline.over()) {
      reportTimeout();
      return false;
    }
    std::vector<pollfd> fds;
    for (int peer = 0; peer < comm.size; ++peer) {
      const Lane &lane = lanes[peer];
      short events = (lane.nextIn < lane.in.size() ? POLLIN : 0) | (lane.nextOut < lane.out.size() ? POLLOUT : 0);
      if (events)
        fds.push_back({comm.sockets[peer], events, 0});
    }
    poll(fds.data(), fds.size(), 20);
  }
}

} // namespace

bool ncclComm::exchange(const std::vector<Message> &sends, const std::vector<Message> &receives) {
  return !error && !aborted && Exchange(*this, sends, receives).run();
}
