/// A search for the shortest schedule that still fails, by leaving out steps that the failure does not need.
struct Shrinking {
    /// Returns whether a schedule fails in the same way as the original one.
    let fails: (Schedule) -> Bool

    func shortest(of schedule: Schedule) -> Schedule {
        var shortest = schedule
        var size = max(1, shortest.count / 2)
        while size >= 1 {
            var isShorter = false
            var start = max(0, shortest.count - size)
            while true {
                var candidate = shortest
                candidate.removeSubrange(start..<min(start + size, candidate.count))
                if candidate.count < shortest.count, fails(candidate) { (shortest, isShorter) = (candidate, true) }
                guard start > 0 else { break }
                start = max(0, min(start, shortest.count) - size)
            }
            if !isShorter || size > 1 { size /= 2 }
        }
        return shortest.indices.reduce(shortest) { simpler($0, at: $1) }
    }

    /// Returns the schedule with fewer steps of a task, if that still fails.
    private func simpler(_ schedule: Schedule, at index: Int) -> Schedule {
        guard case .go(let process, let task, let count) = schedule[index].step else { return schedule }
        for fewer in 1..<max(count, 1) {
            var candidate = schedule
            candidate[index].step = .go(process, task: task, count: fewer)
            if fails(candidate) { return candidate }
        }
        return schedule
    }
}
