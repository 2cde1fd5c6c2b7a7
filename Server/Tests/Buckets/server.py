"""An S3 server for tests, with the bucket `backups`.

Prints its address and the only valid credentials as a line of JSON, and serves until its standard
input ends. It verifies every signature.
"""

import json
import logging
import os
import sys

# The number of the requests below that need no valid credentials.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
host, port = server.get_host_and_port()
address = f"http://{host}:{port}"
anybody = {
    "endpoint_url": address,
    "region_name": "us-east-1",
    "aws_access_key_id": "anybody",
    "aws_secret_access_key": "anything",
}
boto3.client("s3", **anybody).create_bucket(Bucket="backups")
iam = boto3.client("iam", **anybody)
iam.create_user(UserName="perennial")
statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
iam.put_user_policy(
    UserName="perennial",
    PolicyName="backups",
    PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
)
key = iam.create_access_key(UserName="perennial")["AccessKey"]
found = {"endpoint": address, "id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
print(json.dumps(found), flush=True)
sys.stdin.read()
server.stop()
