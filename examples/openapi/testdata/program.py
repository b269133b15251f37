import os
import sys
import uuid

from foliot import Client, ProblemError

server, receiver = sys.argv[1:]
foliot = Client(server, os.environ.get("FOLIOT_TOKEN"))

# Call a URL in a second, and wait until that is done.
task = foliot.create_task(
    {"delay": "1s", "http": {"url": receiver + "/hello", "body": {"order": 42}}, "labels": {"language": "python"}},
    idempotency_key="order-42-python",
).body
while "finished_at" not in task:
    task = foliot.get_task(task["name"], wait="30s").body
print("the first is", task["state"], "with status", task["attempts"][0]["status"])

# One that is not needed any more.
foliot.put_task(
    "order-43-python",
    {"delay": "1h", "http": {"url": receiver + "/hello"}},
    idempotency_key=str(uuid.uuid4()),
)
cancelled = foliot.cancel_task("order-43-python")
print("the second is", cancelled.body["state"], "after its attempt" if cancelled.status == 202 else "before any attempt")

# Every weekday at nine in the evening, by the clocks of Berlin.
report = {"http": {"url": receiver + "/hello"}}
schedule = foliot.put_schedule("report-python", {"cron": "0 21 * * MON-FRI", "timezone": "Europe/Berlin", "task": report}).body
preview = foliot.preview_schedule("report-python", from_="2030-11-20T00:00:00Z", limit=1).body
print("the schedule fires", schedule["words"] + ":", preview["instants"][0]["local"])
foliot.delete_schedule("report-python")

# What is refused says why.
try:
    foliot.touch_task("order-43-python")
except ProblemError as error:
    print("again:", error.status, error.problem and error.problem["code"])
