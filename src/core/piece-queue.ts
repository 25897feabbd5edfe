import type { TextPiece } from './list-text.ts';

/** With so many waiting, whoever takes them has something to do while more are read. */
const FEW = 2;

/** Pieces between whoever reads them and whoever passes them on. */
export class PieceQueue {
  #pieces: TextPiece[] = [];
  #failure: { reason: unknown } | null = null;
  #isClosed = false;
  #wakeTaker = (): void => {};
  #wakeFiller = (): void => {};

  add(piece: TextPiece): void {
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
  async take(): Promise<TextPiece> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#wakeFiller();
        return piece;
      }
      if (this.#failure) throw this.#failure.reason;
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve;
      });
    }
  }

  /** Waits until few are left; false when nobody wants more. */
  async isWanted(): Promise<boolean> {
    while (!this.#isClosed && this.#pieces.length > FEW) {
      await new Promise<void>((resolve) => {
        this.#wakeFiller = resolve;
      });
    }
    return !this.#isClosed;
  }
}
