import { Readable } from 'node:stream';
import type { JsonChunk } from '../../db/json-stream/json-stream.ts';

/**
 * Pieces as a stream. It pipes by itself: Node's own way of piping does not learn when a piece has left, and its memory can be
 * used again. So it can be piped, and not be read in other ways.
 */
export class PieceStream extends Readable {
  readonly #pieces: AsyncIterator<JsonChunk>;
  #next: JsonChunk | null;
  #wake = (): void => {};

  constructor(first: JsonChunk, rest: AsyncIterator<JsonChunk>) {
    super();
    this.#next = first;
    this.#pieces = rest;
  }

  override pipe<T extends NodeJS.WritableStream>(to: T, { end = true }: { end?: boolean } = {}): T {
    this.#sendTo(to, end).then(
      () => this.push(null),
      (error: Error) => this.destroy(error),
    );
    // Nobody else takes the end.
    return this.resume() && to;
  }

  override _read(): void {}

  /** Also when the caller hangs up: whoever makes the pieces stops. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#pieces.return?.().catch(() => undefined);
    this.#wake();
    callback(error);
  }

  async #sendTo(to: NodeJS.WritableStream, isEnded: boolean): Promise<void> {
    const wake = () => this.#wake();
    to.on('drain', wake);
    for (let piece = this.#next; piece && !this.destroyed; piece = await this.#following(piece)) {
      const { text, isLast, release } = piece;
      // After a failure it may not be said who still reads it.
      const isSent = to.write(text, (error?: Error | null) => error ?? release());
      if (!isSent && !isLast && !this.destroyed) await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    to.off('drain', wake);
    if (isEnded && !this.destroyed) to.end();
  }

  async #following({ isLast }: JsonChunk): Promise<JsonChunk | null> {
    if (isLast) return null;
    const { value } = (await this.#pieces.next()) as IteratorYieldResult<JsonChunk>; // the last one says so
    return value;
  }
}
