import type { JsonChunk } from './json-stream.ts';

/** With so many waiting, whoever takes them has something to do while more are read. */
const FEW = 2;

/** Pieces between whoever reads them and whoever passes them on. */
export class ChunkQueue {
  #pieces: JsonChunk[] = [];
  #failure: { reason: unknown } | null = null;
  #isClosed = false;
  #isAwaited = false;
  #wakeTaker = (): void => {};
  #wakeFiller = (): void => {};
  readonly #readsAhead: () => boolean;

  /** Where nothing is read ahead, a piece is read when the one before it has been sent. */
  constructor(readsAhead = () => true) {
    this.#readsAhead = readsAhead;
  }

  add(piece: JsonChunk): void {
    this.#pieces.push(piece);
    this.#wakeTaker();
  }

  /** Told to the taker when there are no more pieces. */
  fail(reason: unknown): void {
    this.#failure = { reason };
    this.#wakeTaker();
  }

  /** Nothing is taken any more. */
  close(): void {
    this.#isClosed = true;
    this.#wakeFiller();
  }

  /** @throws whatever the pieces failed with */
  async take(): Promise<JsonChunk> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#wakeFiller();
        return piece;
      }
      if (this.#failure) throw this.#failure.reason;
      this.#isAwaited = true;
      this.#wakeFiller();
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve;
      });
      this.#isAwaited = false;
    }
  }

  /** Whether whoever has begun to read should read on, as far as what is read together goes. */
  isReadOn(): boolean {
    return this.#readsAhead() || this.#isNextAwaited();
  }

  #isNextAwaited(): boolean {
    return this.#pieces.length === 0 && this.#isAwaited;
  }

  #hasRoom(): boolean {
    return this.#readsAhead() ? this.#pieces.length <= FEW : this.#isNextAwaited();
  }

  /** Waits until there is room; false when nobody wants more. */
  async isWanted(): Promise<boolean> {
    while (!this.#isClosed && !this.#hasRoom()) {
      await new Promise<void>((resolve) => {
        this.#wakeFiller = resolve;
      });
    }
    return !this.#isClosed;
  }
}
