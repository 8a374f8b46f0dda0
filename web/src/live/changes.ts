// Tells those who show something that it has changed: some times a second at most, however often it changes.

export class Changes {
  #listeners = new Set<() => void>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #version = 0
  readonly #pause: number

  /** `pause` in ms. */
  constructor(pause = 50) {
    this.#pause = pause
  }

  /** Something has changed. Costs next to nothing. */
  tell(): void {
    this.#timer ??= setTimeout(() => this.now(), this.#pause)
  }

  /** Tell it without a pause: nothing more will come. */
  now(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#version += 1
    for (const listener of this.#listeners) listener()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Another number after each change that was told. */
  readonly version = (): number => this.#version
}
