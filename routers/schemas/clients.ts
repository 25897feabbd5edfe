import { z } from 'zod';
import { originOf } from '../../src/lib/origins.ts';
import type { ClientRow } from '../../src/services/clients/clients.ts';
import { EmailAddress, Output, Text } from './fields.ts';

/** What pages show before login, and on errors. */
const branding = {
  login_title: z.string(),
  login_subtitle: z.string(),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string(),
  message_404: z.string(),
  subtitle_500: z.string(),
  message_500: z.string(),
};

export const BrandingOutput = z.object({ client_name: z.string(), ...branding });

export const ClientOutput = Output('Client', {
  id: z.int(),
  site: z.object({ domain: z.string(), formatted_name: z.string() }),
  name: z.string(),
  default_from_email: z.string(),
  invitation_subject: z.string(),
  invitation_body: z.string(),
  ...branding,
  password_min_length: z.int(),
  password_allow_common: z.boolean(),
  password_require_numeric: z.boolean(),
  password_require_upper: z.boolean(),
  password_require_lower: z.boolean(),
  password_require_special: z.boolean(),
  password_expiration_days: z.int(),
});

export const clientOutput = ({
  site_domain: domain,
  ...client
}: ClientRow): z.input<typeof ClientOutput> => ({
  ...client,
  site: { domain, formatted_name: domain.replace(/:\d+$/, '') },
});

/** Who may open the apps of a client. */
export const ClientGateOutput = Output('ClientGate', {
  /** The apps of a closed client do not open. */
  is_open: z.boolean(),
  /** Sites whose pages may show its apps in frames. */
  embed_origins: z.array(z.string()),
});

const MAX_ORIGINS = 50;
/** In the header X-Steward-Frame-Ancestors, which stays below the 4 KB that proxies accept. */
const MAX_ORIGINS_LENGTH = 4_000;

export const EmbedOrigins = z
  .array(
    Text(255).transform((text, context) => {
      const origin = originOf(text);
      if (origin !== null) return origin;
      context.addIssue({ code: 'custom', message: 'Must be an origin, such as https://portal.example.com.' });
      return z.NEVER;
    }),
  )
  .max(MAX_ORIGINS)
  .transform((origins) => [...new Set(origins)])
  .refine(
    (origins) => origins.join(' ').length <= MAX_ORIGINS_LENGTH,
    `Must have at most ${MAX_ORIGINS_LENGTH} characters in total.`,
  );

const Line = Text(255).regex(/^[^\r\n]*$/, 'Must not contain line breaks.');
export const ClientName = Line.regex(/\S/, 'Must not be empty.');
const Html = Text(100_000);
/** An email address; an empty string removes it. */
const OptionalEmail = z.union([z.literal(''), EmailAddress], 'Must be an email address or empty.');
/** A path or an http(s) URL. Other URLs are not safe as redirect targets. */
const Location = Text(2048).regex(/^(\/(?![/\\])|https?:\/\/)\S*$/, 'Must be a path or an http(s) URL.');

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

/** What an invitation mail says about its client. */
export const InvitationTexts = ClientChanges.pick({
  name: true,
  default_from_email: true,
  invitation_subject: true,
  invitation_body: true,
  support_email: true,
}).partial();

export const InvitationPreviewOutput = Output('InvitationPreview', {
  from: z.object({ name: z.string(), address: z.string() }),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
});
