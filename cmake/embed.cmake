# Writes the table of the files that travel inside the binary (src/serve/http/page_files.h): OUT, from FILES below PAGE and
# the labs below LABS. The bytes are taken in by the assembler, in every architecture alike.
file(GLOB_RECURSE labs RELATIVE ${LABS} ${LABS}/*.yaml)
list(SORT labs)
set(number 0)
set(blobs "")
set(page_table "")
set(lab_table "")

macro(add_blob path name table)
  file(SIZE ${path} size_B)
  string(APPEND blobs "asm(\".section .rodata\\n.balign 8\\n.globl weft_blob_${number}\\n.hidden weft_blob_${number}\\nweft_blob_${number}:\\n.incbin \\\"${path}\\\"\\n.previous\\n\");\nextern \"C\" [[gnu::visibility(\"hidden\")]] const char weft_blob_${number}[];\n")
  string(APPEND ${table} "    {\"${name}\", {weft_blob_${number}, ${size_B}}},\n")
  math(EXPR number "${number} + 1")
endmacro()

foreach(path ${FILES})
  file(RELATIVE_PATH name ${PAGE} ${path})
  add_blob(${path} ${name} page_table)
endforeach()
foreach(name ${labs})
  add_blob(${LABS}/${name} ${name} lab_table)
endforeach()

set(page_body "  return {};\n")
if(page_table)
  set(page_body "  static const PageFile kFiles[] = {\n${page_table}  };\n  return kFiles;\n")
endif()
file(WRITE ${OUT}.new "// Written by cmake/embed.cmake.
#include \"serve/http/page_files.h\"

#include <cstddef>

${blobs}
namespace weft::serve {
std::span<const PageFile> page_files() {
${page_body}}
std::span<const PageFile> ready_labs() {
  static const PageFile kFiles[] = {
${lab_table}  };
  return kFiles;
}
}  // namespace weft::serve
")
file(RENAME ${OUT}.new ${OUT})
