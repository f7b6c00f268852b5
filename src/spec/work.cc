#include "spec/work.h"

namespace weft::nic {

std::string_view name(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess:
      return "success";
    case WcStatus::kLocalLengthError:
      return "local length error";
    case WcStatus::kLocalQpOperationError:
      return "local QP operation error";
    case WcStatus::kLocalProtectionError:
      return "local protection error";
    case WcStatus::kFlushError:
      return "Work Request Flushed Error";
    case WcStatus::kWindowBindError:
      return "memory bind operation error";
    case WcStatus::kBadResponse:
      return "bad response error";
    case WcStatus::kRemoteInvalidRequest:
      return "remote invalid request error";
    case WcStatus::kRemoteAccessError:
      return "remote access error";
    case WcStatus::kRemoteOperationError:
      return "remote operation error";
    case WcStatus::kRetryExceeded:
      return "transport retry counter exceeded";
    case WcStatus::kRnrRetryExceeded:
      return "RNR retry counter exceeded";
  }
  return "unknown";
}

std::uint8_t mlx5_vendor_error(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess:
    case WcStatus::kLocalQpOperationError:  // no public log shows one of these
    case WcStatus::kBadResponse:
    case WcStatus::kWindowBindError:
      return 0;
    case WcStatus::kLocalLengthError:
      return 0x68;
    case WcStatus::kLocalProtectionError:
      return 0x51;
    case WcStatus::kFlushError:
      return 0xf9;
    case WcStatus::kRemoteInvalidRequest:
      return 0x8a;
    case WcStatus::kRemoteAccessError:
      return 0x88;
    case WcStatus::kRemoteOperationError:
      return 0x89;
    case WcStatus::kRetryExceeded:
      return 0x81;
    case WcStatus::kRnrRetryExceeded:
      return 0x87;
  }
  return 0;
}

}  // namespace weft::nic
