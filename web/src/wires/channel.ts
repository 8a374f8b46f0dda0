/** Values that are pushed in, to be read one by one in their order. */
export class Channel<T> implements AsyncIterable<T> {
  #values: T[] = []
  #closed = false
  #failure: unknown = undefined
  #wake: () => void = () => {}

  push(value: T): void {
    this.#values.push(value)
    this.#wake()
  }

  /** Nothing more comes; what was pushed before is still read. With a failure, reading ends by throwing it. */
  close(failure?: unknown): void {
    if (this.#closed) return
    this.#closed = true
    this.#failure = failure
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const values = this.#values
      this.#values = []
      yield* values
      if (this.#values.length > 0) continue
      if (this.#closed) break
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    if (this.#failure !== undefined) throw this.#failure
  }
}
