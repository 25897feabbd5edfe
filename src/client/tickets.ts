/** Entry point of `@steward/client/tickets`: verifies the tickets with which Steward opens an app. */

export type { TicketClaims } from '../lib/ticket-claims.ts';
export { TicketError, type TicketErrorCode, type VerifyOptions, verifyTicket } from './verify-ticket.ts';
