/** The only credentials that the S3 server of the tests accepts. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

/** With credentials in the environment, the AWS client does not search the machine for others. */
export const AWS_ENVIRONMENT = { AWS_EC2_METADATA_DISABLED: 'true', ...KEYS };
