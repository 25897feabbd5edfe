/** A part of the JSON text of a list; all of them together are one array. */
export type TextPiece = {
  text: Buffer;
  isLast: boolean;
  /** Where the first item begins and ends in the text; null when there is none in it. */
  first: { from: number; to: number } | null;
};

/** A list that is JSON already, piece by piece, for callers who would write it as JSON themselves. */
export class ListText {
  readonly pieces: AsyncIterable<TextPiece>;

  constructor(pieces: AsyncIterable<TextPiece>) {
    this.pieces = pieces;
  }
}
