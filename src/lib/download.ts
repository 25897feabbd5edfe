import type { Readable } from 'node:stream';

/** A response that is a file. */
export class Download {
  readonly fileName: string;
  readonly content: Readable;

  constructor(fileName: string, content: Readable) {
    this.fileName = fileName;
    this.content = content;
  }
}
