import { sql } from 'kysely';
import { before, deleteInBatches } from '../db/deletion.ts';
import { type Condition, condition, type Em } from '../db/kysely.ts';
import { DAY_MS, HOUR_MS } from '../lib/clock.ts';
import { isTokenUnexpired } from './auth/credentials.ts';
import { isUnexpired, SESSION_IDLE_DAYS } from './auth/sessions.ts';
import { TOKEN_USE_DAYS } from './auth/token-uses.ts';
import { ENROLMENT_MS } from './auth/totp-enrolment.ts';

/** How long after the end of a window its row is kept. */
const WINDOW_GRACE_MS = HOUR_MS;

/** Deletes expired and idle sessions and tokens, old uses of tokens, logins that were not completed, and enrolments that were not confirmed. */
export const pruneCredentials = async (em: Em, now: Date, tokenIdleDays: number): Promise<void> => {
  const idleSince = (days: number) => before(now, days * DAY_MS);
  await deleteInBatches(em, 'sessions', sql`last_used < ${idleSince(SESSION_IDLE_DAYS)}`);
  await deleteInBatches(em, 'sessions', sql`not ${isUnexpired(now)}`);
  await deleteInBatches(em, 'api_tokens', sql`not ${isTokenUnexpired(now)}`);
  for (const table of ['login_challenges', 'answered_challenges', 'sso_logouts'] as const)
    await deleteInBatches(em, table, sql`expires_at <= ${now}::timestamptz`);
  await deleteInBatches(
    em,
    'mfa_factors',
    sql`confirmed_at is null and created_at <= ${before(now, ENROLMENT_MS)}`,
  );
  await deleteInBatches(em, 'token_uses', sql`last_used_at < ${before(now, TOKEN_USE_DAYS * DAY_MS)}`);
  if (tokenIdleDays > 0)
    await deleteInBatches(em, 'api_tokens', sql`last_used < ${idleSince(tokenIdleDays)}`);
};

/** Deletes rate-limit windows that have ended. */
export const pruneCounts = (em: Em, now: Date): Promise<void> =>
  deleteInBatches(em, 'rate_limits', sql`expire < ${now.getTime() - WINDOW_GRACE_MS}::bigint`);

/** Deletes expired responses to requests with an idempotency key. */
export const pruneResponses = (em: Em, now: Date, retentionHours: number): Promise<void> =>
  deleteInBatches(em, 'idempotent_responses', sql`created_at <= ${before(now, retentionHours * HOUR_MS)}`);

/**
 * Deletes old entries of the audit trail; its trigger allows this only before the cutoff. 0 days keep all.
 * @param isKept selects entries that stay longer
 */
export const pruneAudit = async (
  em: Em,
  now: Date,
  retentionDays: number,
  isKept: Condition = condition`false`,
): Promise<void> => {
  if (retentionDays === 0) return;
  const cutoff = before(now, retentionDays * DAY_MS);
  const allow = sql`select set_config('steward.audit_cutoff', ${cutoff}::text, true)`;
  await deleteInBatches(em, 'audit_entries', sql`occurred_at < ${cutoff} and not ${isKept}`, allow);
};

type OperationRetention = { auditDays: number; idempotencyHours: number };

/**
 * Deletes the data to undo an operation after a day, but not while a repeated request can still continue the operation. Deletes operations
 * after as many days as the audit entries that name them; 0 days keep these.
 */
export const pruneOperations = async (
  em: Em,
  now: Date,
  { auditDays, idempotencyHours }: OperationRetention,
): Promise<void> => {
  const keptMs = Math.max(DAY_MS, idempotencyHours * HOUR_MS);
  const isOver = sql`operation_id in (select id from operations where started_at < ${before(now, keptMs)})`;
  await deleteInBatches(em, 'operation_changes', isOver);
  if (auditDays === 0) return;
  await deleteInBatches(em, 'operations', sql`started_at < ${before(now, auditDays * DAY_MS)}`);
};

/** Deletes invitations that were accepted, revoked or expired before the retention period, with their mails. 0 days keep all. */
export const pruneInvitations = async (em: Em, now: Date, retentionDays: number): Promise<void> => {
  if (retentionDays === 0) return;
  const end = sql`case when status = 'pending' then expires_at else coalesce(closed_at, expires_at) end`;
  await deleteInBatches(em, 'invitations', sql`${end} < ${before(now, retentionDays * DAY_MS)}`);
};

/** Deletes requests for apps that ended before the retention period. 0 days keep all. */
export const pruneAccessRequests = async (em: Em, now: Date, retentionDays: number): Promise<void> => {
  if (retentionDays === 0) return;
  await deleteInBatches(em, 'access_requests', sql`decided_at < ${before(now, retentionDays * DAY_MS)}`);
};
