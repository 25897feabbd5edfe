import { base64url } from 'jose';
import { parseJson } from './exact-json.ts';

/** The longest lifetime of a ticket. */
export const MAX_TICKET_SECONDS = 300;

/** Path of the public keys, under the issuer. */
export const JWKS_PATH = '/.well-known/jwks.json';

export const TICKET_ALGORITHM = 'ES256';

/** Who looks at the app as the person (RFC 8693, 4.1). `sub` is a handle. */
export type TicketActor = { sub: string; email: string };

/** A ticket's claims about the person who opens an app. Every claim is always present. */
export type TicketClaims = {
  /** The address of Steward: BASE_URL. */
  iss: string;
  /** The slug of the app. */
  aud: string;
  /** The handle of the user, or `view:{id}` for an access view without a user. */
  sub: string;
  /** Null without a user. */
  email: string | null;
  /** First and last name; null without a user. */
  name: string | null;
  /** The client that owns the app. */
  client: { id: number; name: string };
  app: { id: string; slug: string; label: string };
  /** The slug of the stack to open. */
  stack: string | null;
  /** `superuser`, `staff`, `client-admin`; otherwise `member`, or `guest` without a user. */
  roles: string[];
  /** The keys of the person's roles in the app, which the app declares and interprets. */
  app_roles: string[];
  /** The data that the person may see. Null: nothing gives the person data permissions. */
  data_permissions: Record<string, unknown> | null;
  /** The selections of the access view. */
  selections: Record<string, unknown>;
  is_demo_user: boolean;
  /** The id of the access view, or null. */
  access_view: number | null;
  show_header: boolean;
  show_footer: boolean;
  /** Two letters, or empty. */
  language_code: string;
  /** Who looks at the app as the person; null if the person opens it themselves. */
  act: TicketActor | null;
  /** Whether the app must not change anything, nor record usage: someone looks at it as the person. */
  read_only: boolean;
  /** How the person, or `act`, has logged in, by RFC 8176: `pwd`, `otp`, `mfa`. Empty if they opened the app without a session. */
  amr: string[];
  /** When they logged in, or confirmed the login, in seconds; null without a session. */
  auth_time: number | null;
  jti: string;
  /** In seconds, like `exp`. */
  iat: number;
  exp: number;
  /** The time of issue in milliseconds by the clock of the database, to compare with revocations. */
  issued_ms: number;
};

/** Whether verifiers require it. Services before these claims issue tickets without them. `satisfies` reports missing claims. */
const CLAIMS = {
  iss: true,
  aud: true,
  sub: true,
  email: true,
  name: true,
  client: true,
  app: true,
  stack: true,
  roles: true,
  app_roles: false,
  data_permissions: true,
  selections: true,
  is_demo_user: true,
  access_view: true,
  show_header: true,
  show_footer: true,
  language_code: true,
  act: false,
  read_only: false,
  amr: true,
  auth_time: true,
  jti: true,
  iat: true,
  exp: true,
  issued_ms: true,
} satisfies Record<keyof TicketClaims, boolean>;

export const REQUIRED_CLAIMS = Object.entries(CLAIMS).flatMap(([claim, isRequired]) =>
  isRequired ? [claim] : [],
);

/** The claims of a verified ticket with all digits of their integers, which `jose` rounds. */
export const readClaims = (ticket: string): TicketClaims => {
  const [, claims = ''] = ticket.split('.');
  return {
    app_roles: [],
    act: null,
    read_only: false,
    ...parseJson(new TextDecoder().decode(base64url.decode(claims))),
  };
};
