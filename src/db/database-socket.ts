import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { RowFilter, type TakeRow } from './row-filter.ts';

const READ_BYTES = 64 * 1024;
/** SSLRequest: its length, and a code in the place of a protocol version. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const TLS_ACCEPTED = 'S';
const TLS_REFUSED = 'N';

type Done = (error?: Error | null) => void;

/**
 * The stream below a client of `pg`, given as its option `stream`. The rows of a list are taken out of it as bytes, because `pg`
 * decodes and converts each column. It uses TLS itself, as `pg` would otherwise encrypt above it.
 */
export class DatabaseSocket extends Duplex {
  /** Set before `connect`, if the connection is encrypted. */
  tls: ConnectionOptions = {};
  readonly #plain: Socket;
  /** `#plain`, or the encrypted socket on top of it. */
  #socket: Socket;
  readonly #rows = new RowFilter({
    pass: (bytes) => {
      // The buffer that is read into is used again, but `pg` keeps the start of a message until the rest arrives.
      if (!this.push(Buffer.from(bytes))) this.#socket.pause();
    },
    refuse: () => this.destroy(new Error('The server does not use the protocol of PostgreSQL')),
  });

  constructor(isEncrypted = false) {
    super({ allowHalfOpen: false });
    this.#plain = isEncrypted ? new Socket() : this.#openPlain();
    this.#plain.once('connect', () => (isEncrypted ? this.#requestTls() : this.emit('connect')));
    this.#socket = this.#plain;
    this.#forwardEnd(this.#plain);
  }

  /** @param port or the path of a Unix socket */
  connect(port: number | string, host = 'localhost'): this {
    if (typeof port === 'string') this.#plain.connect(port);
    else this.#plain.connect(port, host);
    return this;
  }

  /** Rows are taken instead of passed on, until this is called with undefined. No query may be under way. */
  takeRows(takeRow: TakeRow | undefined): void {
    this.#rows.takeRow = takeRow;
  }

  setNoDelay(isEnabled: boolean): this {
    this.#plain.setNoDelay(isEnabled);
    return this;
  }

  setKeepAlive(isEnabled: boolean, delayMs: number): this {
    this.#plain.setKeepAlive(isEnabled, delayMs);
    return this;
  }

  ref(): this {
    this.#plain.ref();
    return this;
  }

  unref(): this {
    this.#plain.unref();
    return this;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: Done): void {
    this.#socket.write(bytes, encoding, done);
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
    this.#socket.cork();
    for (const [index, { chunk, encoding }] of chunks.entries())
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? done : undefined);
    this.#socket.uncork();
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy();
    this.#plain.destroy();
    done(error);
  }

  /** Without a new buffer for each read: those of a list would cost more than its rows. */
  #openPlain(): Socket {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number) => {
      this.#rows.add(buffer.subarray(0, length));
      return true;
    };
    return new Socket({ onread: { buffer, callback } });
  }

  /** As libpq does. Bytes behind the response were not encrypted: they are refused (CVE-2021-23222). */
  #requestTls(): void {
    this.#plain.once('data', (bytes: Buffer) => {
      const response = bytes.toString('latin1');
      if (response === TLS_ACCEPTED) this.#openEncrypted();
      else this.destroy(new Error(refusalOf(response)));
    });
    this.#plain.write(TLS_REQUEST);
  }

  #openEncrypted(): void {
    this.#socket = connectTls({ ...this.tls, socket: this.#plain });
    this.#forwardEnd(this.#socket);
    this.#socket.once('secureConnect', () => this.emit('connect'));
    this.#socket.on('data', (bytes: Buffer) => this.#rows.add(bytes));
  }

  #forwardEnd(socket: Socket): void {
    socket.once('end', () => this.push(null));
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }
}

const refusalOf = (response: string): string =>
  response === TLS_REFUSED
    ? 'The server does not support SSL connections'
    : 'There was an error establishing an SSL connection';
