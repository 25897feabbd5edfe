import {
  type ColumnWriter,
  flag,
  instant,
  ints,
  json,
  text,
} from '../../src/db/json-stream/column-encoders.ts';
import type { UserColumns } from '../../src/services/users/user-json.ts';

const ZERO = 0x30;
const NINE = 0x39;
const LOWER_A = 0x61;
const LOWER_Z = 0x7a;

/** As `userView`, column by column. */
export const userColumns =
  (baseUrl: string): UserColumns =>
  (apps) => ({
    ...commonColumns(baseUrl, apps),
    clientadmin_of: ['clientadmin_of', ints],
  });

/** As `clientUserView`, column by column. */
export const clientUserColumns =
  (baseUrl: string): UserColumns =>
  (apps) => ({
    ...commonColumns(baseUrl, apps),
    last_password_set: ['last_password_set', instant],
  });

const commonColumns = (baseUrl: string, apps: ColumnWriter) => {
  const { email, avatar } = drawnBy(baseUrl);
  return {
    email: ['email', email],
    handle: ['handle', text],
    first_name: ['first_name', text],
    last_name: ['last_name', text],
    extra: ['extra', json],
    is_active: ['is_active', flag],
    is_demo_user: ['is_demo_user', flag],
    profile_color: ['profile_color', text],
    profile_avatar: ['profile_avatar', avatar],
    apps: ['apps', apps],
    last_login: ['last_login', instant],
    date_joined: ['date_joined', instant],
    last_activated: ['last_activated', instant],
    last_deactivated: ['last_deactivated', instant],
  } as const;
};

/** Who has no avatar has the letter that the service draws, which is one of their address. */
const drawnBy = (baseUrl: string): { email: ColumnWriter; avatar: ColumnWriter } => {
  const drawn = new Map<number, Buffer>();
  const drawnFor = (initial: number): Buffer => {
    const known = drawn.get(initial);
    if (known) return known;
    const made = Buffer.from(JSON.stringify(`${baseUrl}/avatars/${String.fromCharCode(initial)}.svg`));
    drawn.set(initial, made);
    return made;
  };
  let initial = 0;
  return {
    email: (row, out) => {
      row.next();
      initial = initialOf(row.bytes, row.from, row.to);
      out.quoted(row.bytes, row.from, row.to);
    },
    avatar: (row, out) => {
      if (row.next()) out.quoted(row.bytes, row.from, row.to);
      else out.put(drawnFor(initial));
    },
  };
};

const initialOf = (bytes: Uint8Array, from: number, to: number): number => {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] as number; // inside of the address
    if ((byte >= LOWER_A && byte <= LOWER_Z) || (byte >= ZERO && byte <= NINE)) return byte;
  }
  return 'x'.charCodeAt(0);
};
