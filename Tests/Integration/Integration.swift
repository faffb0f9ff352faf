import Testing

/// The built programs against providers and a browser that no one here wrote. One after the other: a browser and a provider
/// are enough for two cores.
@Suite(.serialized, .timeLimit(.minutes(15))) struct Integration {}
