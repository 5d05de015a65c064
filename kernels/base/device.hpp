// Device labels: cpu(0), cpu(1), gpu(0), ... A CPU label names a worker thread, not a core.
#pragma once

#include <compare>
#include <string>

namespace cohort {

enum class DeviceKind { cpu, gpu };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int id = 0;

  auto operator<=>(const Device&) const = default;
};

inline Device cpu(int id = 0) { return {DeviceKind::cpu, id}; }

// "cpu(0)", "gpu(1)".
inline std::string to_string(Device device) {
  return (device.kind == DeviceKind::cpu ? "cpu(" : "gpu(") + std::to_string(device.id) + ")";
}

}  // namespace cohort
