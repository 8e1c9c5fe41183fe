// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the ranks of a communicator find each other. Ranks of one machine meet by
// names in the abstract namespace, of which nothing stays behind when a process
// dies. Those that NCCL_COMM_ID gives an address meet there by TCP:
//
//   rank 0 listens at the address; every other rank connects to it and says where
//   it listens itself; rank 0 answers all of them with the list.
//
// Then each rank connects to the lower ones and accepts the higher ones.
#include "Comm.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace gpusim;

namespace {

constexpr uint32_t magic = 0x67735244;

struct Hello {
  uint32_t magic, rank, size, port; ///< port: where it listens, in the order of the network
};

bool sendAll(int fd, const void *p, size_t n) { return send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n; }
bool receiveAll(int fd, void *p, size_t n) { return recv(fd, p, n, MSG_WAITALL) == (ssize_t)n; }

Address nameOf(const std::string &token, int rank) {
  Address a;
  auto *name = (sockaddr_un *)&a.data;
  std::string text = "gpusim-nccl/" + token + "/" + std::to_string(rank);
  size_t n = std::min(text.size(), sizeof name->sun_path - 1);
  name->sun_family = AF_UNIX;
  memcpy(name->sun_path + 1, text.data(), n);
  a.length = offsetof(sockaddr_un, sun_path) + 1 + n;
  return a;
}

uint16_t &portOf(Address &a) {
  return a.data.ss_family == AF_INET6 ? ((sockaddr_in6 *)&a.data)->sin6_port : ((sockaddr_in *)&a.data)->sin_port;
}

/// Every address of this machine.
Address anywhere(int family, uint16_t port) {
  Address a;
  a.data.ss_family = family;
  a.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  portOf(a) = port; // the address itself is zero
  return a;
}

bool resolve(const std::string &text, Address &a) {
  size_t colon = text.rfind(':');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(text.substr(0, colon).c_str(), text.c_str() + colon + 1, &hints, &found) != 0)
    return false;
  memcpy(&a.data, found->ai_addr, found->ai_addrlen);
  a.length = found->ai_addrlen;
  freeaddrinfo(found);
  return true;
}

/// A stranger that says nothing must not hold up the ranks.
void prepare(int fd) {
  timeval limit{(time_t)timeoutSeconds() + 1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); // local sockets have none
}

class Meeting {
public:
  explicit Meeting(ncclComm &comm) : comm(comm) {}
  bool run();
  std::string problem;

private:
  bool give(const std::string &why) { return problem = why, false; }
  bool over() const { return comm.aborted || deadline.over(); }
  bool listenAt(const Address &place);
  bool connectTo(int peer, const Address &place, uint32_t port);
  bool acceptFrom(int lowest, std::vector<Address> *places);
  bool meetByName();
  bool meetAtAddress();

  ncclComm &comm;
  Deadline deadline;
};

/// An earlier communicator of the same name may be about to close.
bool Meeting::listenAt(const Address &place) {
  int &listener = comm.door.listener = socket(place.data.ss_family, SOCK_STREAM, 0), yes = 1;
  if (listener < 0)
    return give(strerror(errno));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  while (bind(listener, (const sockaddr *)&place.data, place.length) != 0) {
    if (errno != EADDRINUSE || over())
      return give("this rank is taken already");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return listen(listener, comm.size) == 0 || give(strerror(errno));
}

bool Meeting::connectTo(int peer, const Address &place, uint32_t port) {
  const std::string them = "rank " + std::to_string(peer);
  for (;;) {
    int fd = socket(place.data.ss_family, SOCK_STREAM, 0);
    if (fd >= 0 && ::connect(fd, (const sockaddr *)&place.data, place.length) == 0) {
      comm.sockets[peer] = fd;
      break;
    }
    close(fd);
    if (over())
      return give(them + " never joined");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  prepare(comm.sockets[peer]);
  const Hello mine{magic, (uint32_t)comm.rank, (uint32_t)comm.size, port};
  return sendAll(comm.sockets[peer], &mine, sizeof mine) || give(them + " left while joining");
}

/// Ranks from `lowest` on; where they listen goes to `places`.
bool Meeting::acceptFrom(int lowest, std::vector<Address> *places) {
  for (int missing = comm.size - lowest; missing > 0; --missing) {
    pollfd p{comm.door.listener, POLLIN, 0};
    while (poll(&p, 1, 20) <= 0)
      if (over())
        return give(std::to_string(missing) + " higher ranks never joined");
    Address from;
    from.length = sizeof from.data;
    int fd = accept(comm.door.listener, (sockaddr *)&from.data, &from.length);
    Hello theirs{};
    if (fd >= 0)
      prepare(fd);
    if (fd < 0 || !receiveAll(fd, &theirs, sizeof theirs) || theirs.magic != magic ||
        theirs.size != (uint32_t)comm.size || theirs.rank < (uint32_t)lowest || theirs.rank >= (uint32_t)comm.size ||
        comm.sockets[theirs.rank] >= 0) {
      std::string who = fd < 0 ? "a peer" : "rank " + std::to_string(theirs.rank);
      if (fd >= 0)
        close(fd);
      return give(who + " joins with another number of ranks or twice");
    }
    comm.sockets[theirs.rank] = fd;
    if (places) {
      portOf(from) = theirs.port;
      (*places)[theirs.rank] = from;
    }
  }
  return true;
}

bool Meeting::meetByName() {
  for (int peer = 0; peer < comm.size; ++peer)
    comm.door.ranks.push_back(nameOf(comm.token, peer));
  return listenAt(comm.door.ranks[comm.rank]);
}

/// After it rank 0 and all others are connected.
bool Meeting::meetAtAddress() {
  Address place;
  if (!resolve(comm.token.substr(4), place))
    return give("cannot resolve " + comm.token.substr(4));
  const int family = place.data.ss_family;
  std::vector<Address> &ranks = comm.door.ranks;
  ranks.resize(comm.size);
  if (comm.rank == 0) {
    if (!listenAt(anywhere(family, portOf(place))) || !acceptFrom(1, &ranks))
      return false;
    for (int peer = 1; peer < comm.size; ++peer)
      if (!sendAll(comm.sockets[peer], ranks.data(), ranks.size() * sizeof(Address)))
        return give("rank " + std::to_string(peer) + " left while joining");
    return true;
  }
  uint16_t port;
  if (!(comm.door = openDoor(family, comm.size, port)).isOpen())
    return give("no port to listen at");
  comm.door.ranks.resize(comm.size);
  return connectTo(0, place, port) &&
         (receiveAll(comm.sockets[0], comm.door.ranks.data(), comm.size * sizeof(Address)) ||
          give("rank 0 left while joining"));
}

bool Meeting::run() {
  comm.sockets.assign(comm.size, -1);
  bool known = !comm.door.ranks.empty(), byAddress = !known && comm.token.compare(0, 4, "tcp:") == 0;
  if (!known && !(byAddress ? meetAtAddress() : meetByName()))
    return false;
  if (byAddress && comm.rank == 0)
    return true;
  for (int peer = byAddress ? 1 : 0; peer < comm.rank; ++peer)
    if (!connectTo(peer, comm.door.ranks[peer], 0))
      return false;
  return acceptFrom(comm.rank + 1, nullptr);
}

} // namespace

void Door::shut() {
  if (listener >= 0)
    close(listener);
  listener = -1;
}

Door gpusim::openDoor(int family, int size, uint16_t &port) {
  Door door;
  Address place = anywhere(family, 0);
  door.listener = socket(family, SOCK_STREAM, 0);
  if (door.listener < 0 || bind(door.listener, (sockaddr *)&place.data, place.length) != 0 ||
      listen(door.listener, size) != 0 || getsockname(door.listener, (sockaddr *)&place.data, &place.length) != 0)
    door.shut();
  port = portOf(place);
  return door;
}

Address gpusim::peerAddress(int socket, uint16_t port) {
  Address a;
  a.length = sizeof a.data;
  getpeername(socket, (sockaddr *)&a.data, &a.length);
  portOf(a) = port;
  return a;
}

bool gpusim::isAddress(const std::string &text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return false;
  char *end;
  long port = strtol(text.c_str() + colon + 1, &end, 10);
  return port > 0 && port < 65536 && !*end;
}

ncclResult_t ncclComm::connect() {
  Meeting meeting(*this);
  bool met = meeting.run();
  door.shut();
  if (met)
    return ncclSuccess;
  gpusimReport(("NCCL, " + name() + ": " + meeting.problem).c_str());
  disconnect();
  return meeting.problem == "this rank is taken already" ? ncclInvalidUsage : ncclSystemError;
}

void ncclComm::disconnect() {
  for (int peer = 0; peer < (int)sockets.size(); ++peer) {
    int fd = sockets[peer];
    if (fd < 0)
      continue;
    int unread = 0;
    if (!error && !aborted && ioctl(fd, FIONREAD, &unread) == 0 && unread > 0)
      gpusimReport(
          ("NCCL, " + name() + ": rank " + std::to_string(peer) + " sent a message that was never received").c_str());
    close(fd);
  }
  sockets.clear();
}
