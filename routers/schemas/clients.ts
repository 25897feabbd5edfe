import { z } from 'zod';
import type { ClientRow } from '../../src/services/clients/clients.ts';
import { EmailAddress, Text } from './fields.ts';

export const ClientView = z.object({
  id: z.int(),
  site: z.object({ domain: z.string(), formatted_name: z.string() }),
  name: z.string(),
  default_from_email: z.string(),
  invitation_subject: z.string(),
  invitation_body: z.string(),
  login_title: z.string(),
  login_subtitle: z.string(),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string(),
  message_404: z.string(),
  subtitle_500: z.string(),
  message_500: z.string(),
  password_min_length: z.int(),
  password_allow_common: z.boolean(),
  password_require_numeric: z.boolean(),
  password_require_upper: z.boolean(),
  password_require_lower: z.boolean(),
  password_require_special: z.boolean(),
  password_expiration_days: z.int(),
});

export const clientView = (client: ClientRow): z.input<typeof ClientView> => ({
  id: client.id,
  site: { domain: client.site_domain, formatted_name: client.site_domain.replace(/:\d+$/, '') },
  name: client.name,
  default_from_email: client.default_from_email,
  invitation_subject: client.invitation_subject,
  invitation_body: client.invitation_body,
  login_title: client.login_title,
  login_subtitle: client.login_subtitle,
  support_email: client.support_email,
  home_location: client.home_location,
  subtitle_404: client.subtitle_404,
  message_404: client.message_404,
  subtitle_500: client.subtitle_500,
  message_500: client.message_500,
  password_min_length: client.password_min_length,
  password_allow_common: client.password_allow_common,
  password_require_numeric: client.password_require_numeric,
  password_require_upper: client.password_require_upper,
  password_require_lower: client.password_require_lower,
  password_require_special: client.password_require_special,
  password_expiration_days: client.password_expiration_days,
});

const Line = Text(255).regex(/^[^\r\n]*$/, 'Must not contain line breaks.');
export const ClientName = Line.regex(/\S/, 'Must not be empty.');
const Html = Text(100_000);
/** An email address; an empty string removes it. */
const OptionalEmail = z.union([z.literal(''), EmailAddress], 'Must be an email address or empty.');
/** A path or web address. Other URLs are not safe as redirect targets. */
const Location = Text(2048).regex(/^(\/(?![/\\])|https?:\/\/)\S*$/, 'Must be a path or an http(s) address.');

export const ClientChanges = z.object({
  name: ClientName,
  default_from_email: OptionalEmail,
  invitation_subject: Line,
  invitation_body: Html,
  login_title: Line,
  login_subtitle: Line,
  support_email: OptionalEmail,
  home_location: Location,
  subtitle_404: Line,
  message_404: Html,
  subtitle_500: Line,
  message_500: Html,
  password_min_length: z.int().min(8).max(128),
  password_allow_common: z.boolean(),
  password_require_numeric: z.boolean(),
  password_require_upper: z.boolean(),
  password_require_lower: z.boolean(),
  password_require_special: z.boolean(),
  password_expiration_days: z.int().min(0).max(3650),
});
