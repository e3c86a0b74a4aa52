# libstreamsforge-engine: the modules base to engine as one shared library that shows only the
# functions of include/streamsforge/engine.h. `cmake --install DIR --component engine` installs it.

include(GNUInstallDirs)

add_library(streamsforge-engine SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sf_engine>)
set_target_properties(streamsforge-engine PROPERTIES
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/engine/library.map)
target_link_libraries(streamsforge-engine PRIVATE
    sf_text sf_column sf_expr sf_state sf_flow sf_sql sf_base)
target_link_options(streamsforge-engine PRIVATE
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/engine/library.map -Wl,--no-undefined)

# The installed tree may be moved: the prefix is found from where the .pc file lies.
file(RELATIVE_PATH ENGINE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/streamsforge-engine.pc.in
               ${CMAKE_BINARY_DIR}/streamsforge-engine.pc @ONLY)

install(TARGETS streamsforge-engine LIBRARY
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT engine)
install(FILES ${CMAKE_SOURCE_DIR}/include/streamsforge/engine.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/streamsforge COMPONENT engine)
install(FILES ${CMAKE_BINARY_DIR}/streamsforge-engine.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT engine)
