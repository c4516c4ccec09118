import { AwsV4Signer } from 'aws4fetch';
import type { SignRequest } from '../ports/broker.ts';

/** Signs requests to Amazon Bedrock with Signature Version 4. */
export function createAwsSigner(keys: {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token of temporary keys, or an empty string for permanent keys. */
  readonly sessionToken: string;
}): SignRequest {
  const { sessionToken, ...rest } = keys;
  return async ({ url, body }) => {
    const signer = new AwsV4Signer({
      ...rest,
      ...(sessionToken === '' ? {} : { sessionToken }),
      service: 'bedrock',
      method: 'POST',
      url,
      body,
    });
    const { headers } = await signer.sign();
    return Object.fromEntries(headers);
  };
}
