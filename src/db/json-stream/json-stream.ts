/** A part of the JSON text of a list; all of them together are one array. */
export type JsonChunk = {
  text: Buffer;
  isLast: boolean;
  /** Where the first of the items that were read together begins and ends in the text; null when it is not in it. */
  first: { from: number; to: number } | null;
  /** Has the text's memory used again: to be called when the text has been sent, and never while anybody may read it. */
  release: () => void;
};

/** A list that is JSON already, piece by piece, for callers who would write it as JSON themselves. */
export class JsonStream {
  readonly chunks: AsyncIterable<JsonChunk>;

  constructor(pieces: AsyncIterable<JsonChunk>) {
    this.chunks = pieces;
  }
}
