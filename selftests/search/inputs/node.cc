// SPDX-License-Identifier: GPL-2.0
// A ROS node that talks to itself: a publisher, subscribers in four threads, a service and parameters.
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <ros/ros.h>
#include <std_msgs/String.h>
#include <std_srvs/Trigger.h>

static const int messages = 300;
static std::atomic<long> bytes, received;

static void hear(const std_msgs::String::ConstPtr &message)
{
	bytes += message->data.size();
	received++;
}

static bool answer(std_srvs::Trigger::Request &, std_srvs::Trigger::Response &response)
{
	response.success = true;
	response.message = std::string(100, 'a');
	return true;
}

int main(int argc, char **argv)
{
	ros::init(argc, argv, "node");
	ros::NodeHandle node;
	ros::AsyncSpinner spinner(4);
	ros::Publisher publisher = node.advertise<std_msgs::String>("talk", messages);
	ros::Subscriber subscriber = node.subscribe("talk", messages, hear);
	ros::ServiceServer server = node.advertiseService("trigger", answer);
	ros::ServiceClient client = node.serviceClient<std_srvs::Trigger>("trigger");
	long answers = 0;

	spinner.start();
	while (publisher.getNumSubscribers() < 1)
		ros::WallDuration(0.01).sleep();
	for (int i = 0; i < messages; i++) {
		std_msgs::String message;

		message.data.assign(static_cast<size_t>(i) * 10, 'm');
		publisher.publish(message);
	}
	for (int i = 0; i < 50; i++) {
		std_srvs::Trigger trigger;

		answers += client.call(trigger) ? static_cast<long>(trigger.response.message.size()) : -1;
	}
	for (int i = 0; i < 100; i++)
		node.setParam("parameter" + std::to_string(i), i);
	std::vector<std::string> names;
	node.getParamNames(names);
	for (int left = 3000; received < messages && left; left--)
		ros::WallDuration(0.01).sleep();
	spinner.stop();
	printf("%ld messages of %ld bytes, answers of %ld, %zu parameters\n", received.load(), bytes.load(), answers,
	       names.size());
	return 0;
}
