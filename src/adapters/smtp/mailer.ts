/** `name` is one line of any words; `address` is one valid address and nothing else. */
export type MailAddress = { name: string; address: string };

/** A mail as it goes out. Whoever writes one sees to it that header texts are single lines. */
export type Mail = {
  /** Without its angle brackets. The same for every try, so that a mail that came twice can be recognised. */
  messageId: string;
  date: Date;
  from: MailAddress;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/** `refused` is for good, `failed` may pass. `reason`: at most 500 characters, no secret, no link. */
export type Delivery = { outcome: 'taken' } | { outcome: 'failed' | 'refused'; reason: string };

export type Mailer = {
  /** Hands a mail to the mail server, and answers what came of it. Never rejects. */
  send(mail: Mail): Promise<Delivery>;
  /** Closes all connections. What is being sent has then failed, though the server may have taken it. */
  close(): void;
};
