// Requests of a program to its world: the name of each, with what it carries and what comes back. A number
// stays what it is: program and world may be of different builds.
#pragma once

#include <cstdint>

namespace weft::verbs {

enum class Op : std::uint32_t {
  kHello = 1,  // Hello -> Welcome, with descriptors: ThreadPage, ProcessPage; wall clock: the doorbell, a pipe
  kSleep,      // Sleep -> nothing
  kSetTimer,   // SetTimer -> TimerLeft: alarm() and ITIMER_REAL; the world sends SIGALRM
  kLookUp,     // LookUp -> Address, one after the other: of a name of the node's /etc/hosts
  kNodeName,   // nothing -> LookUp: the node that this is
  kStatus,     // nothing -> WorldStatus and ProcessStatus[], OutsideStatus[]: `weft ps`, on a connection of its own
  kDown,       // nothing -> nothing: `weft down`

  kRefreshCounters,  // nothing -> nothing: hw_counters of this node, in the folder that stands for /sys, are those of
                     // now

  kResults = 16,  // nothing -> nothing, with a descriptor of what results.json would say: `weft counters`

  kListDevices = 32,  // nothing -> DeviceInfo[]
  kAllocPd,           // OnDevice -> Handle
  kRegMr,             // RegMr -> MrKeys
  kCreateChannel,     // OnDevice -> Handle, with an eventfd that is readable while an event waits
  kCreateCq,          // CreateCq -> CqInfo, with the ring's descriptor
  kCreateSrq,         // CreateSrq -> QueueInfo, with the ring's descriptor
  kCreateQp,          // CreateQp -> QpInfo, with the rings' descriptor
  kCreateAh,          // CreateAh -> Handle
  kDestroy,           // Destroy -> Destroyed; EBUSY while something uses it
  kModifyQp,          // ModifyQp -> nothing
  kQueryQp,           // Handle -> QpAttr
  kModifySrq,         // ModifySrq -> nothing
  kArmCq,             // ArmCq -> nothing
  kPoll,             // Handle[] of CQs that were found empty in turn -> nothing, when one of them has an entry; of more
                     // than kMaxPolledCqs, none: any CQ of the process
  kGetCqEvent,       // GetEvent -> CqEvent
  kGetAsyncEvent,    // GetEvent -> AsyncEvent
  kAttachMulticast,  // Multicast -> nothing
  kDetachMulticast,
  kUnmapping,   // Unmapping -> nothing: the program is about to unmap memory that may be registered
  kOpenEvents,  // OnDevice -> DeviceToken, with an eventfd that is readable while an asynchronous event waits
  kQuerySrq,    // Handle -> SrqLimit

  // The management network: TCP between the nodes. Addresses are IPv4, network order, or mapped.
  kStreamOpen = 64,  // StreamOpen -> Handle, with the descriptor that stands for it (verbs/stream_protocol.h)
  kStreamBind,       // StreamAddress -> StreamAddress with the port that it got
  kStreamListen,     // StreamListen -> nothing
  kStreamConnect,    // StreamAddress -> StreamAddress, the own one; ECONNREFUSED; EINPROGRESS without wait
  kStreamAccept,     // StreamWait -> StreamAccepted, with a descriptor
  kStreamSend,       // StreamBytes and the bytes -> Count of those that there was room for; EAGAIN: none
  kStreamReceive,    // StreamReceive -> the bytes; none at the end of the stream
  kStreamShutdown,   // Shutdown -> nothing
  kStreamClose,      // Handle -> nothing
  kWait,             // Wait and WaitItem[] -> WaitItem[] with `ready`: poll, select, epoll_wait

  // RDMA CM: what they start ends in an event. The structs are in verbs/cm_protocol.h.
  kCmCreateChannel = 128,  // nothing -> Handle, with an eventfd that is readable while an event waits
  kCmDestroyChannel,       // Handle -> nothing; ids that use it end too
  kCmCreateId,             // CmCreateId -> Handle
  kCmDestroyId,            // Handle -> nothing
  kCmQuery,                // Handle -> CmIdInfo
  kCmBind,                 // CmAddress -> CmIdInfo
  kCmListen,               // CmListen -> CmIdInfo
  kCmResolveAddress,       // CmResolve -> nothing
  kCmResolveRoute,         // CmResolve -> nothing
  kCmConnect,              // CmConnect -> nothing
  kCmAccept,               // CmConnect -> nothing: answers a request, or ends the handshake of the side that asked
  kCmReject,               // CmConnect -> nothing; only its private data counts
  kCmDisconnect,           // Handle -> nothing
  kCmNotify,               // CmOption -> nothing; `value` is an ibv_event_type
  kCmInitQpAttr,           // CmOption -> CmQpAttr; `value` is an ibv_qp_state
  kCmSetOption,            // CmOption -> nothing
  kCmMigrate,              // CmOption -> nothing; `value` is the channel
  kCmGetEvent,             // CmGetEvent -> CmEvent

  kBlockOwnMulticast = 148,  // Handle of a queue pair -> nothing: IBV_QP_CREATE_BLOCK_SELF_MCAST_LB
  kCmJoin,                   // CmGroup -> nothing; a MULTICAST_JOIN event says when
  kCmLeave,                  // CmGroup -> nothing

  // Waits, signals and timers. The structs are in verbs/wait_protocol.h.
  kCancel = 160,   // nothing; the one request that may be sent while another is out. A wait ends with EINTR, any other
                   // request with its reply; after that, or at once if none is out, kCancelDone
  kNudge,          // nothing -> nothing: a reply for a thread that waits for one which its signal handler has taken
  kInterrupt,      // Interrupt -> nothing: the wait of another thread, or its next one, ends with EINTR
  kSignalled,      // Signalled -> nothing, when those that were sent a signal have handled it
  kMakeSignalSet,  // SignalSet -> Handle
  kDropSignalSet,  // Handle -> nothing
  kCreateTimer,    // CreateTimer -> Handle
  kArmTimer,       // ArmTimer -> TimerState, as it was
  kQueryTimer,     // Handle -> TimerState
  kReadTimer,      // ReadTimer -> Expirations since the last time
  kDropTimer,      // Handle -> nothing
  kExpectThread,   // nothing -> nothing, with a connection for a thread that is about to start, which says kHello on it
  kYield,          // nothing -> nothing, after the others that can go on at this time
  kYieldUntil,     // Sleep -> nothing: until then, or until anything happens to the process
  kWaitForChange,  // WaitForChange -> nothing: until then, or until the bytes are others
  kCountSignal,    // CountSignal -> SignalCount: of conditions that processes share

  // The rarer objects of verbs. The structs are in verbs/extended_protocol.h.
  kReregMr = 192,    // ReregMr -> MrKeys
  kResizeCq,         // ResizeCq -> CqInfo, with the new ring's descriptor: what was not taken is in it
  kAdviseMr,         // AdviseMr and Sge[] -> nothing
  kAllocNullMr,      // Handle of a protection domain -> MrKeys
  kAllocMw,          // AllocMw -> MrKeys
  kAllocDm,          // AllocDm -> Handle
  kCopyDm,           // CopyDm and the bytes -> nothing; CopyDm -> the bytes
  kRegDmMr,          // RegDmMr -> MrKeys
  kOpenXrcd,         // OpenXrcd -> Handle
  kCreateXrcSrq,     // CreateXrcSrq -> XrcSrqInfo, with the ring's descriptor
  kCreateXrcTarget,  // CreateXrcTarget -> QpInfo, without rings
  kImport,           // Import -> Imported
  kModerateCq,       // ModerateCq -> nothing

  // Processes and their sockets. The structs are in verbs/stream_protocol.h.
  kFork = 224,    // nothing -> nothing, with a connection for the child, which says kHello on it
  kStreamAdopt,   // StreamName -> StreamInfo: the process has been handed a descriptor of it; EBADF: no stream of this
                  // world
  kStreamSet,     // StreamSet -> nothing
  kStreamStatus,  // Handle -> StreamInfo
  kExec,          // nothing -> nothing: the process is about to execute another program
  kStreamTcp,     // Handle -> StreamTcp
  kCpuTime,       // nothing -> CpuTime

  // Appearance of a node (verbs/node_protocol.h).
  kShowNode = 256,   // LookUp -> nothing: the files of this node are written; `weft exec`, on a connection of its own
  kInterfaces,       // nothing -> InterfaceInfo[]
  kNetlink,          // NetlinkRequest and a message -> datagrams
  kEthtool,          // EthtoolRequest and a structure -> the structure
  kNameOf,           // Address -> LookUp: whose it is
  kRouteTo,          // Address -> Route; ENOENT: not of this world, ENETUNREACH: no way leads there
  kIcmpOpen,         // IcmpOpen -> Handle, with an eventfd that is readable while a message waits
  kIcmpSend,         // IcmpMessage and its bytes -> nothing
  kIcmpReceive,      // IcmpReceive -> IcmpMessage and its bytes; EAGAIN when the time has come
  kIcmpClose,        // Handle -> nothing
  kRefusal,          // nothing -> Refusal: why the last change was refused, once
  kChangeInterface,  // InterfaceChange -> nothing
  kWriteFile,        // LookUp, a file that the program opens to write -> EACCES
  kNodeCommand,      // words, each with a NUL behind it -> NodeCommandReply and text (verbs/node_protocol.h)

  // Commands to a world that is up, on connections of their own. The structs are in verbs/control_protocol.h.
  kCommand = 288,  // Command and words -> CommandReply and text
  kWatch,          // Command and words -> CommandReply and text, then messages until either side ends it

  // UDP between the nodes. The structs are in verbs/datagram_protocol.h; its sockets are streams to the calls above.
  kDatagramOpen = 320,  // StreamOpen -> Handle, with the descriptor that stands for it
  kDatagramConnect,     // StreamAddress -> StreamAddress, the own one
  kDatagramDisconnect,  // Handle -> nothing
  kDatagramSend,        // DatagramSend and the bytes -> Count; EAGAIN: no room
  kDatagramReceive,     // DatagramReceive -> DatagramFrom and the bytes
  kDatagramGroup,       // DatagramGroup -> nothing
};

}  // namespace weft::verbs
