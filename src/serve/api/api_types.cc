#include "serve/api/api_types.h"

#include "serve/api/api_rows.h"
#include "store/table_text.h"

namespace weft::store {
template <>
inline constexpr const char* type_name<RooflineEntry> = "RooflineEntry";
}  // namespace weft::store

namespace weft::serve {

namespace {

template <class Row>
std::string interface_of(const char* name, bool has_lists = false) {
  return store::typescript(store::object_text<Row>(name), has_lists);
}

}  // namespace

std::string api_types() {
  return "// Made from src/serve/api/api_rows.h: WEFT_WRITE=1 serve_test --gtest_filter='ApiTypes.*' writes this "
         "file.\n" +
         interface_of<FabricNode>("FabricNode") + interface_of<FabricLink>("FabricLink") +
         interface_of<FabricQueue>("FabricQueue") + interface_of<FabricGroup>("FabricGroup") +
         interface_of<SeriesEntry>("SeriesEntry") + interface_of<NodeDrop>("NodeDrop") +
         "// Columns of equal length.\n" + interface_of<FlowEntry>("Flows", true) +
         interface_of<JobStepTime>("JobStepTime") + interface_of<JobRank>("JobRank") +
         interface_of<RooflineEntry>("RooflineEntry") + interface_of<BusBandwidth>("BusBandwidth") +
         interface_of<JobDelay>("JobDelay");
}

}  // namespace weft::serve
