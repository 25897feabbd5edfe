/** The one pair that the tests' S3 server knows. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

/** The AWS client finds keys in the environment, before it looks for them where a test must not. */
export const AWS_ENVIRONMENT = { AWS_EC2_METADATA_DISABLED: 'true', ...KEYS };
