#include <adwaita.h>
#include <libintl.h>
#include <locale.h>
#include "MainActorLoop.h"
