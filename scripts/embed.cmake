# Writes OUT, a C++ file that holds the text of each of FILES:
#   namespace weft::lab { extern const EmbeddedFile kCatalogFiles[]; extern const std::size_t kCatalogFileCount; }
set(text "// Generated from catalog/*.yaml by scripts/embed.cmake.\n#include \"catalog/catalog_data.h\"\n\nnamespace weft::lab {\nconst EmbeddedFile kCatalogFiles[] = {\n")
list(LENGTH FILES count)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} body)
  # g++ limits one literal to 64 KiB in pedantic mode; files stay far below.
  string(APPEND text "    {\"${name}\", R\"WEFT_CATALOG(${body})WEFT_CATALOG\"},\n")
endforeach()
string(APPEND text "};\nconst std::size_t kCatalogFileCount = ${count};\n}  // namespace weft::lab\n")
file(WRITE ${OUT} "${text}")
