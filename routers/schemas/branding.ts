import { z } from 'zod';
import type { BrandingRow } from '../../src/services/clients/branding.ts';

export const BrandingView = z.object({
  client_name: z.string(),
  login_title: z.string(),
  login_subtitle: z.string(),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string(),
  message_404: z.string(),
  subtitle_500: z.string(),
  message_500: z.string(),
});

export const brandingView = (client: BrandingRow): z.input<typeof BrandingView> => ({
  client_name: client.name,
  login_title: client.login_title,
  login_subtitle: client.login_subtitle,
  support_email: client.support_email,
  home_location: client.home_location,
  subtitle_404: client.subtitle_404,
  message_404: client.message_404,
  subtitle_500: client.subtitle_500,
  message_500: client.message_500,
});
