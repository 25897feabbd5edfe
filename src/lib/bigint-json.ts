declare global {
  interface BigInt {
    toJSON(): unknown;
  }
  interface JSON {
    /** Makes `JSON.stringify` write this text as it is. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** `JSON.stringify` writes every digit of a bigint. */
BigInt.prototype.toJSON = function toJSON(this: bigint): object {
  return JSON.rawJSON(this.toString());
};

export {};
