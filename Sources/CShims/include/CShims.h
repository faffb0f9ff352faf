#include "libcrypto_shims.h"
#include "libcurl_shims.h"
#include "socket_shims.h"
#include "spawn_shims.h"
