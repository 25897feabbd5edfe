/** Types of elements, by their fixed numbers in `pg_type`. */
const OIDS = { text: 25, json: 114, varchar: 1043, timestamptz: 1184 };

/** Dimensions, whether there are nulls, type of the elements; then length and lower bound of the one dimension. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const INSTANT_BYTES = 8;
/** UTF-8 of one UTF-16 unit. */
const MAX_UNIT_BYTES = 3;
/** 2000-01-01, from which PostgreSQL counts. */
const POSTGRES_EPOCH_MS = 946_684_800_000;
const TWO_TO_32 = 2 ** 32;

/**
 * Takes texts one by one and makes an array of them as PostgreSQL reads it in binary form, to be bound where the SQL says
 * its type. Arrays in text form are escaped on one side and read by character on the other.
 *
 * @param roomBytes what an element will take; more is made when it is needed
 */
export const createTextArray = (type: 'text' | 'json' | 'varchar', count: number, roomBytes: number) => {
  let bytes = Buffer.allocUnsafe(HEADER_BYTES + count * (LENGTH_BYTES + roomBytes));
  let end = HEADER_BYTES;
  let added = 0;
  let hasNulls = false;

  return {
    add: (text: string | null): void => {
      const needed = end + LENGTH_BYTES + (text?.length ?? 0) * MAX_UNIT_BYTES;
      if (needed > bytes.length) bytes = enlarged(bytes, Math.max(needed, bytes.length * 2));
      const length = text === null ? -1 : bytes.write(text, end + LENGTH_BYTES);
      bytes.writeInt32BE(length, end);
      end += LENGTH_BYTES + Math.max(0, length);
      added += 1;
      hasNulls ||= text === null;
    },
    bytes: (): Buffer => withHeader(bytes.subarray(0, end), { oid: OIDS[type], count: added, hasNulls }),
  };
};

export const textArray = (type: 'text' | 'json' | 'varchar', texts: readonly (string | null)[]): Buffer => {
  const array = createTextArray(type, texts.length, 0);
  for (const text of texts) array.add(text);
  return array.bytes();
};

/** Of moments in milliseconds since 1970. */
export const instantArray = (times: readonly number[]): Buffer => {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + times.length * (LENGTH_BYTES + INSTANT_BYTES));
  let end = HEADER_BYTES;
  for (const time of times) {
    const microseconds = (time - POSTGRES_EPOCH_MS) * 1000;
    const high = Math.floor(microseconds / TWO_TO_32);
    bytes.writeInt32BE(INSTANT_BYTES, end);
    bytes.writeInt32BE(high, end + LENGTH_BYTES);
    bytes.writeUInt32BE(microseconds - high * TWO_TO_32, end + 2 * LENGTH_BYTES);
    end += LENGTH_BYTES + INSTANT_BYTES;
  }
  return withHeader(bytes, { oid: OIDS.timestamptz, count: times.length, hasNulls: false });
};

const enlarged = (bytes: Buffer, length: number) => {
  const larger = Buffer.allocUnsafe(length);
  bytes.copy(larger);
  return larger;
};

type Header = { oid: number; count: number; hasNulls: boolean };

const withHeader = (bytes: Buffer, { oid, count, hasNulls }: Header): Buffer => {
  [1, Number(hasNulls), oid, count, 1].forEach((number, place) => {
    bytes.writeInt32BE(number, place * LENGTH_BYTES);
  });
  return bytes;
};
