/** `name` is one line of text, `address` one valid address. */
export type MailAddress = { name: string; address: string };

/** A rendered mail. Header values must be single lines. */
export type Mail = {
  /** Without angle brackets. The same for every attempt, so that mail programs recognize duplicates. */
  messageId: string;
  date: Date;
  from: MailAddress;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/** `refused` is permanent, `failed` temporary. `reason`: at most 500 characters, without secrets and links. */
export type Delivery = { outcome: 'taken' } | { outcome: 'failed' | 'refused'; reason: string };

export type Mailer = {
  /** Sends a mail to the mail server. Never rejects. */
  send(mail: Mail): Promise<Delivery>;
  /** Closes all connections. Running deliveries fail, although the server may have accepted the mail. */
  close(): void;
};
